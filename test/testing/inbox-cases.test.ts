import { inboxCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { FAULTY_INBOXES, plainInboxHarness } from '../support/testing/plain-inbox.js'

const RUNS = new Map(inboxCases.map(({ id, run }) => [id, run]))

test.each([...RUNS])('an inbox that makes all decisions rightly passes %s', async (_, run) => {
  await run(plainInboxHarness())
})

describe('an inbox that', () => {
  test.each(FAULTY_INBOXES.flatMap(({ fault, seenBy }) => seenBy.map((id) => [fault, id] as const)))(
    '%s is seen by %s',
    async (fault, id) => {
      await expect(RUNS.get(id)?.(plainInboxHarness(fault))).rejects.toThrow(`case ${id}: `)
    },
  )
})

test('every case has seen a fault', () => {
  const useful = new Set<string>(FAULTY_INBOXES.flatMap(({ seenBy }) => seenBy))
  expect([...RUNS.keys()].filter((id) => !useful.has(id))).toEqual([])
})

test.each([
  ['no create', { create: undefined }, 'The harness has no create function'],
  [
    'nothing said of cuts',
    { cut: undefined },
    'The harness has no cut: pass a function, as InboxHarness describes it, or null',
  ],
])('a harness with %s is refused', async (_, wrong, message) => {
  await expect(RUNS.get('handled')?.({ ...plainInboxHarness(), ...wrong } as never)).rejects.toThrow(message)
})
