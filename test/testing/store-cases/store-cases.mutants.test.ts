import { type StoreCase, storeCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { FAULTY_CLAIMS } from '../../support/testing/faulty-claims.js'
import { FAULTY_HOLDING } from '../../support/testing/faulty-holding.js'
import { FAULTY_KEYS } from '../../support/testing/faulty-keys.js'
import { FAULTY_RETENTION } from '../../support/testing/faulty-retention.js'
import { harnessOf } from '../../support/testing/faulty-stores.js'

const FAULTS = [...FAULTY_CLAIMS, ...FAULTY_HOLDING, ...FAULTY_RETENTION, ...FAULTY_KEYS]

/** The cases that have seen a fault so far. */
const useful = new Set<string>()

async function failsOn({ run }: StoreCase, { Store }: (typeof FAULTS)[number]): Promise<boolean> {
  return run(harnessOf(Store)).then(
    () => false,
    () => true,
  )
}

describe('a store that', () => {
  test.each(FAULTS.map((row) => [row.fault, row.seenBy, row] as const))(
    '%s is seen by %s',
    async (_, __, row) => {
      const seenBy: string[] = []
      for (const one of storeCases) if (await failsOn(one, row)) seenBy.push(one.id)
      expect(seenBy).toContain(row.seenBy)
      for (const id of seenBy) useful.add(id)
    },
  )
})

test('every case has seen a fault', () => {
  expect(storeCases.map(({ id }) => id).filter((id) => !useful.has(id))).toEqual([])
})
