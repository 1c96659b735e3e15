import type { Inbox } from 'tix-webhooks'
import { type InboxHarness, inboxCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { never } from '../support/promises.js'
import { failureOf } from '../support/testing/failure-of.js'
import { inboxHarness } from '../support/testing/faulty-inboxes.js'
import type { PlainTransaction } from '../support/testing/plain-inbox.js'

const failure = (id: string, harness: unknown): Promise<Error> =>
  failureOf(inboxCases, id, harness as InboxHarness<unknown>)

const plain = inboxHarness()
const harnessWith = (once: Inbox<PlainTransaction>['once']) => ({ ...plain, create: async () => ({ once }) })

describe('a failure of a case', () => {
  test('has what was expected, what came, and the deliveries that led to it', async () => {
    const { message } = await failure(
      'connection-back',
      inboxHarness(() => ({ deny: async () => undefined })),
    )
    expect(message.split('\n')).toEqual([
      'case connection-back: the work was called though the event is handled.',
      'An inbox MUST give its connection back, however a delivery ends.',
      '  1. deliver "1" by another inbox → handled',
      '  2. deliver "1" by another inbox → handled',
      '  3. deliver "1" by another inbox → …',
    ])
  })

  test('of a delivery that is rejected has the cause', async () => {
    const cause = new Error('connection refused')
    const found = await failure(
      'handled',
      harnessWith(() => Promise.reject(cause)),
    )
    expect(found.message).toContain(
      'case handled: deliver "1": expected handled, but it was rejected: connection refused.\n',
    )
    expect(found.cause).toBe(cause)
  })

  test.each<[string, unknown, string]>([
    ['an unknown end', { status: 'done' }, 'expected handled, but it was "done"'],
    ['no end', undefined, 'expected handled, but it was undefined'],
    ['an end without work', { status: 'handled' }, 'it was handled, but its work was not called'],
  ])('shows that the inbox returned %s', async (_, result, told) => {
    const { message } = await failure(
      'handled-empty',
      harnessWith(async () => result as never),
    )
    expect(message).toContain(`case handled-empty: deliver "1": ${told}.\n`)
  })

  test('names the effects that are too many', async () => {
    const read = async () => (await plain.read()).flatMap((id) => [id, id])
    const { message } = await failure('handled', { ...plain, read })
    expect(message).toContain('expected "a", "b" to be written, but there is "a", "a", "b", "b".\n')
  })

  test('shortens a long key', async () => {
    const { message } = await failure(
      'key-long',
      harnessWith(() => Promise.reject(new Error('too long'))),
    )
    expect(message).toContain('deliver "/////////…///": expected handled')
  })

  test('of a case that waits for ever has what it waits for', async () => {
    const { message } = await failure('handled', { ...harnessWith(() => never()), timeoutMs: 20 })
    expect(message.split('\n')).toEqual([
      'case handled: it has not ended after 0.02 s.',
      'An inbox MUST commit all that its work has written when that resolves, and nothing before.',
      '  1. deliver "1" → …',
    ])
  })
})

const { cut: _, ...withoutCut } = plain

test.each<[string, unknown, string, string?]>([
  ['nothing', undefined, 'The harness has no create function: pass { create, write, read, fail,'],
  ['no read', { ...plain, read: [] }, 'The harness has no read function'],
  ['no cut', withoutCut, 'The harness has no cut: pass a function, as InboxHarness describes it, or null'],
  ['no inbox', { ...plain, create: async () => undefined }, 'something without a once function'],
  [
    'a failing statement that does not fail',
    { ...plain, fail: async () => {} },
    "the harness's fail() resolved, but it must send a statement that fails",
    'swallowed',
  ],
])('a harness with %s is refused with what to pass', async (_name, harness, told, id = 'handled') => {
  expect((await failure(id, harness)).message).toContain(told)
})

test('cases that need what a database cannot do say so, and test nothing', async () => {
  const create = () => Promise.reject(new Error('not to be called'))
  const harness = { ...plain, create, fail: null, nest: null, cut: null, advance: null }
  const untested: string[] = []
  for (const { id, needs, run } of inboxCases) {
    const hasPassed = await run(harness).then(
      () => true,
      () => false,
    )
    expect([id, hasPassed]).toEqual([id, needs !== undefined])
    if (hasPassed) untested.push(`${id}: ${needs}`)
  }
  expect(untested).toEqual([
    'discarded-failed: fail',
    'swallowed: fail',
    'nested: nest',
    'lost-idle: cut',
    'lost-running: cut',
    'lost-at-once: cut',
    'lost-commit: cut',
    'lost-reply: cut',
    'retained: advance',
  ])
})
