import { failureCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { FAULTY_FAILURES, harnessOf } from '../../support/testing/faulty-failures.js'
import { PlainFailures } from '../../support/testing/plain-failures.js'

const RUNS = new Map(failureCases.map(({ id, run }) => [id, run]))

describe('failures that', () => {
  test.each(
    FAULTY_FAILURES.flatMap(({ fault, seenBy, open }) => seenBy.map((id) => [fault, id, open] as const)),
  )('%s are seen by %s', async (_, id, open) => {
    await expect(RUNS.get(id)?.(open())).rejects.toThrow(`case ${id}: `)
  })

  test('make the same decisions rightly pass each case', async () => {
    for (const { run } of failureCases) await run(harnessOf(new PlainFailures()))
  })
})

test('every case has seen a fault', () => {
  const useful = new Set(FAULTY_FAILURES.flatMap(({ seenBy }) => seenBy))
  expect([...RUNS.keys()].filter((id) => !useful.has(id))).toEqual([])
})
