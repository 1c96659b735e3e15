/** @module-tag slow */
import { storeCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { FAULTY_STORES } from '../support/testing/faulty-stores.js'
import { storeHarness } from '../support/testing/model-store.js'
import type { Fault, Patch } from '../support/testing/patched.js'

interface Case<Harness> {
  readonly id: string
  run(harness: Harness): Promise<void>
}

/** Each fault is detected by the cases that it names, each case detects a fault, and none sees one in what is right. */
function testCases<Part, Harness>(
  what: string,
  cases: readonly Case<Harness>[],
  faults: readonly Fault<Part>[],
  harnessOf: (patch?: Patch<Part>) => Harness,
): void {
  const byId = new Map(cases.map((one) => [one.id, one]))

  describe(what, () => {
    test.each(faults.flatMap(({ fault, seenBy, patch }) => seenBy.map((id) => [fault, id, patch] as const)))(
      '%s: detected by %s',
      async (_, id, patch) => {
        await expect(byId.get(id)?.run(harnessOf(patch))).rejects.toThrow(`case ${id}: `)
      },
    )

    test.each(cases.map(({ id, run }) => [id, run] as const))('%s passes without a fault', (_, run) =>
      run(harnessOf()),
    )

    test('each case detects a fault', () => {
      const useful = new Set(faults.flatMap(({ seenBy }) => seenBy))
      expect([...byId.keys()].filter((id) => !useful.has(id))).toEqual([])
    })
  })
}

testCases('a store', storeCases, FAULTY_STORES, storeHarness)
