/** @module-tag slow */
import { adapterCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { FAULTY_ANSWERS } from '../../support/testing/faulty-adapter-answers.js'
import { FAULTY_BODIES } from '../../support/testing/faulty-adapter-bodies.js'
import { FAULTY_REQUESTS } from '../../support/testing/faulty-adapter-requests.js'
import { harnessOf } from '../../support/testing/plain-adapter.js'

const FAULTS = [...FAULTY_BODIES, ...FAULTY_REQUESTS, ...FAULTY_ANSWERS]
const RUNS = new Map(adapterCases.map(({ id, run }) => [id, run]))

describe('an adapter that', () => {
  test.each(
    FAULTS.flatMap(({ fault, seenBy, Adapter }) => seenBy.map((id) => [fault, id, Adapter] as const)),
  )('%s is seen by %s', async (_, id, Adapter) => {
    const run = RUNS.get(id)
    await expect(run?.(harnessOf(Adapter, 0.3))).rejects.toThrow(`case ${id}: `)
  })
})

test('every case has seen a fault', () => {
  const useful = new Set(FAULTS.flatMap(({ seenBy }) => seenBy))
  expect([...RUNS.keys()].filter((id) => !useful.has(id))).toEqual([])
})
