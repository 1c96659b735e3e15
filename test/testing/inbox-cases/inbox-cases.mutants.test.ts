import { inboxCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { FAULTY_INBOXES, harnessOf } from '../../support/testing/faulty-inboxes.js'
import { PlainInbox } from '../../support/testing/plain-inbox.js'

const RUNS = new Map(inboxCases.map(({ id, run }) => [id, run]))

describe('an inbox that', () => {
  test.each(
    FAULTY_INBOXES.flatMap(({ fault, seenBy, Inbox }) => seenBy.map((id) => [fault, id, Inbox] as const)),
  )('%s is seen by %s', async (_, id, Inbox) => {
    const harness = { ...harnessOf(Inbox), timeoutMs: 25 }
    await expect(RUNS.get(id)?.(harness)).rejects.toThrow(`case ${id}: `)
  })

  test('makes the same decisions rightly passes each case', async () => {
    for (const { run } of inboxCases) await run(harnessOf(PlainInbox))
  })
})

test('every case has seen a fault', () => {
  const useful = new Set(FAULTY_INBOXES.flatMap(({ seenBy }) => seenBy))
  expect([...RUNS.keys()].filter((id) => !useful.has(id))).toEqual([])
})
