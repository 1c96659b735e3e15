import { storeCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { FAULTY_CLAIMS } from '../../support/testing/faulty-claims.js'
import { FAULTY_CLIENTS } from '../../support/testing/faulty-clients.js'
import { FAULTY_HOLDING } from '../../support/testing/faulty-holding.js'
import { FAULTY_KEYS } from '../../support/testing/faulty-keys.js'
import { FAULTY_RETENTION } from '../../support/testing/faulty-retention.js'
import { harnessOf } from '../../support/testing/faulty-stores.js'

const FAULTS = [...FAULTY_CLAIMS, ...FAULTY_HOLDING, ...FAULTY_RETENTION, ...FAULTY_KEYS, ...FAULTY_CLIENTS]

const RUNS = new Map(storeCases.map(({ id, run }) => [id, run]))

describe('a store that', () => {
  test.each(FAULTS.flatMap(({ fault, seenBy, Store }) => seenBy.map((id) => [fault, id, Store] as const)))(
    '%s is seen by %s',
    async (_, id, Store) => {
      await expect(RUNS.get(id)?.(harnessOf(Store))).rejects.toThrow(`case ${id}: `)
    },
  )
})

test('every case has seen a fault', () => {
  const useful = new Set(FAULTS.flatMap(({ seenBy }) => seenBy))
  expect([...RUNS.keys()].filter((id) => !useful.has(id))).toEqual([])
})
