import { readdirSync } from 'node:fs'
import { inboxCases, type LedgerHarness, ledgerCases, storeCases } from 'tix-webhooks/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HANDLED_FACTS, handledFacts } from '../support/handled-facts.js'
import { notRefusedKeys } from '../support/invalid-inputs.js'
import { type OpenBackend, OUR_STORES } from '../support/our-stores.js'
import { ROOT } from '../support/root.js'

/** They run inside workerd: test/stores/edge.test.ts. */
const AT_THE_EDGE = ['d1', 'durable-object']

test('every store of ours is tested here, or at the edge', async () => {
  const entries = readdirSync(`${ROOT}stores`).flatMap((file) => /^(.+)\.ts$/.exec(file)?.[1] ?? [])
  const exported = await Promise.all(
    entries.map(async (entry) => Object.keys(await import(`../../stores/${entry}.ts`))),
  )
  const stores = entries.filter((_, index) => exported[index]?.some((name) => name.endsWith('Store')))
  const tested = OUR_STORES.map(({ entry }) => entry).filter((entry) => entry !== 'index')
  expect([...tested, ...AT_THE_EDGE].sort()).toEqual(stores.sort())
})

for (const { entry, describe, stores, inboxes } of OUR_STORES) {
  for (const { name, open } of stores) {
    describe.each([
      ['', storeCases],
      // Redis keeps no failures.
      ...(entry === 'redis' ? [] : [[', as a ledger', ledgerCases] as const]),
    ] as const)(`${name}%s:`, (_, cases) => {
      let backend: OpenBackend
      beforeAll(async () => {
        backend = await open()
      })
      afterAll(() => backend.close())

      for (const { id, name, run } of cases)
        test(`${id}: it ${name}`, () => run(backend as OpenBackend & LedgerHarness))
    })

    describe(`${name}:`, () => {
      test('says that an event was handled for a completed record within its retention, and for nothing else', async () => {
        const fresh = await open()
        try {
          expect(await handledFacts(fresh)).toEqual(HANDLED_FACTS)
          expect(await notRefusedKeys(await fresh.create())).toEqual([])
        } finally {
          await fresh.close()
        }
      })
    })
  }

  for (const { name, use, fails = {}, lacks = [] } of inboxes) {
    describe(`${name}:`, () => {
      const harness = use()

      test('runs every case, but for what it lacks', () => {
        const needs = new Set(inboxCases.flatMap((one) => one.needs ?? []))
        const members = harness()
        expect([...needs].filter((need) => !members[need])).toEqual(lacks)
      })

      test.each(inboxCases.map((one) => [one.id, one.name, one] as const))(
        '%s: it %s',
        async (id, _name, { run }) => {
          const failure = fails[id]
          if (failure === undefined) return run(harness())
          await expect(run({ ...harness(), timeoutMs: 500 })).rejects.toThrow(failure)
        },
      )
    })
  }
}
