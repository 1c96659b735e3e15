/** @module-tag slow */
import {
  adapterCases,
  type InboxHarness,
  inboxCases,
  type LedgerHarness,
  ledgerCases,
  SCENARIOS,
  scenarios,
  storeCases,
} from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../support/deliveries.js'
import { HONEST, ownReceiver } from '../support/own-receiver.js'
import { failing } from '../support/played-scenarios.js'
import { adapterHarness, FAULTY_ADAPTERS } from '../support/testing/faulty-adapters.js'
import { FAULTY_INBOXES, inboxHarness } from '../support/testing/faulty-inboxes.js'
import { FAULTY_LEDGERS } from '../support/testing/faulty-ledgers.js'
import { FAULTY_RECEIVERS, FIRST_SIGNATURE_ALONE } from '../support/testing/faulty-receivers.js'
import { FAULTY_STORES } from '../support/testing/faulty-stores.js'
import { ledgerHarness, type ModelStore, storeHarness } from '../support/testing/model-store.js'
import { type Faults, type Patch, rowsOf } from '../support/testing/patched.js'
import type { PlainInbox, PlainTransaction } from '../support/testing/plain-inbox.js'

interface Case<Harness> {
  readonly id: string
  readonly name: string
  run(harness: Harness): Promise<void>
}

/** @param harnessOf of what is right, or of what is wrong in one part */
function testCases<Part, Harness>(
  what: string,
  cases: readonly Case<Harness>[],
  faults: Faults<Part>,
  harnessOf: (patch?: Patch<Part>) => Harness,
): void {
  const byId = new Map(cases.map((one) => [one.id, one]))

  describe(what, () => {
    test.each(rowsOf(faults))('$name is detected', async ({ seenBy, patch }) => {
      for (const id of seenBy) {
        await expect(byId.get(id)?.run(harnessOf(patch)), id).rejects.toThrow(`case ${id}: `)
      }
    })

    test.each(cases)('$id passes without a fault', ({ run }) => run(harnessOf()))

    // Users pin results to the ids: a case that is renamed or removed is missing here too.
    test('each case detects a fault', () => {
      const useful = new Set(rowsOf(faults).flatMap(({ seenBy }) => seenBy))
      expect([...byId.keys()].filter((id) => !useful.has(id))).toEqual([])
    })

    test('the cases have short ids, and sentences as names, that differ', () => {
      expect(byId.size).toBe(cases.length)
      expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
      for (const { id, name } of cases) {
        expect(id).toMatch(/^(?=.{1,24}$)[a-z]+(-[a-z]+){0,3}$/)
        expect(name).toMatch(/^(MUST|MUST NOT|SHOULD) [a-z].+\.$/)
      }
    })
  })
}

testCases('a store', storeCases, FAULTY_STORES, storeHarness)
testCases<PlainInbox, InboxHarness<PlainTransaction>>('an inbox', inboxCases, FAULTY_INBOXES, inboxHarness)
testCases<ModelStore, LedgerHarness>('a ledger', ledgerCases, FAULTY_LEDGERS, ledgerHarness)
testCases('an adapter', adapterCases, FAULTY_ADAPTERS, (patch) => adapterHarness(patch, patch ? 0.3 : 4))

test('there is an adapter case for each scenario that must be refused', () => {
  const ids = new Set(adapterCases.map(({ id }) => id))
  const refused = SCENARIOS.filter(({ verdict }) => verdict === 'forged' || verdict === 'unusable')
  expect(refused.map(({ name }) => name).filter((name) => !ids.has(name))).toEqual([])
})

// Every receiver has a memory of its own, so all of them can be sent the same deliveries.
const ofEvents = await scenarios('event.published', { secret: SECRET })
const ofOrders = await scenarios('order.created', { secret: SECRET })

describe('a receiver written by hand', () => {
  test.each(rowsOf(FAULTY_RECEIVERS))(
    'is detected by these scenarios and no others: $name',
    async ({ seenBy, patch }) => {
      expect(await failing(ofOrders, ownReceiver(patch(HONEST)))).toEqual(seenBy)
    },
  )

  test('that relies on a title is seen by thin', async () => {
    const receiver = ownReceiver({ handle: ({ data }) => data.event?.title.toUpperCase() })
    expect(await failing(ofEvents, receiver)).toEqual(['thin'])
  })

  test('that takes the first v1 alone is seen during a rotation', async () => {
    const table = await scenarios('order.created', { secret: ['whsec_old', SECRET] })
    expect(await failing(table, ownReceiver(FIRST_SIGNATURE_ALONE(HONEST)))).toContain('duplicate')
    expect(await failing(table, ownReceiver())).toEqual([])
  })

  test('that makes no mistake passes them all, in order and in reverse', async () => {
    const receiver = ownReceiver()
    for (const kind of ['order.created', 'event.published'] as const) {
      expect(await failing(await scenarios(kind, { secret: SECRET }), receiver)).toEqual([])
      const reversed = [...(await scenarios(kind, { secret: SECRET }))].reverse()
      expect(await failing(reversed, receiver)).toEqual([])
    }
  })

  test('is detected by each scenario, with one fault or another', () => {
    const useful = new Set<string>(['thin', ...rowsOf(FAULTY_RECEIVERS).flatMap(({ seenBy }) => seenBy)])
    expect(SCENARIOS.map(({ name }) => name).filter((name) => !useful.has(name))).toEqual([])
  })
})
