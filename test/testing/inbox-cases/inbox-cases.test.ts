import type { Inbox } from 'tix-webhooks'
import { type InboxHarness, inboxCases } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { never } from '../../support/promises.js'
import { harnessOf } from '../../support/testing/faulty-inboxes.js'
import { PlainInbox, type PlainTransaction } from '../../support/testing/plain-inbox.js'

/** Why a case fails on a harness. */
async function failureOf<Tx>(id: string, harness: InboxHarness<Tx>): Promise<Error> {
  const one = inboxCases.find((candidate) => candidate.id === id)
  if (one === undefined) throw new Error(`there is no case ${id}`)
  return one.run(harness).then(
    () => new Error(`${id} did not fail`),
    (error: Error) => error,
  )
}

const plain = harnessOf(PlainInbox)

const harnessWith = (once: Inbox<PlainTransaction>['once']): InboxHarness<PlainTransaction> => ({
  ...plain,
  create: async () => ({ once }),
})

describe('a failure of a case', () => {
  test('says what was expected, what came, and the deliveries that led to it', async () => {
    const harness = harnessOf(
      class extends PlainInbox {
        override async deny() {
          return undefined
        }
      },
    )
    const { message } = await failureOf('connection-back', harness)
    expect(message.split('\n')).toEqual([
      'case connection-back: the work was called though the event is handled.',
      'An inbox MUST give its connection back, however a delivery ends.',
      '  1. deliver "1" by another inbox → handled',
      '  2. deliver "1" by another inbox → handled',
      '  3. deliver "1" by another inbox → …',
    ])
  })

  test('of a delivery that is rejected says so, and keeps the cause', async () => {
    const cause = new Error('connection refused')
    const failure = await failureOf(
      'handled',
      harnessWith(() => Promise.reject(cause)),
    )
    expect(failure.message).toContain(
      'case handled: deliver "1": expected handled, but it was rejected: connection refused.\n',
    )
    expect(failure.cause).toBe(cause)
  })

  test.each<[string, unknown, string]>([
    ['an end that there is not', { status: 'done' }, 'expected handled, but it was "done"'],
    ['no end', undefined, 'expected handled, but it was undefined'],
    [
      'that its work is done, uncalled,',
      { status: 'handled' },
      'it was handled, but its work was not called',
    ],
  ])('says that the inbox returned %s', async (_, result, told) => {
    const { message } = await failureOf(
      'handled-empty',
      harnessWith(async () => result as never),
    )
    expect(message).toContain(`case handled-empty: deliver "1": ${told}.\n`)
  })

  test('names the effects that are too many', async () => {
    const read = async () => (await plain.read()).flatMap((id) => [id, id])
    const { message } = await failureOf('handled', { ...plain, read })
    expect(message).toContain('expected "a", "b" to be written, but there is "a", "a", "b", "b".\n')
  })

  test('shortens a long key', async () => {
    const { message } = await failureOf(
      'key-long',
      harnessWith(() => Promise.reject(new Error('too long'))),
    )
    expect(message).toContain('deliver "/////////…///": expected handled')
  })

  test('is told of a case that waits for ever, with what it waits for', async () => {
    const { message } = await failureOf('handled', { ...harnessWith(() => never()), timeoutMs: 20 })
    expect(message.split('\n')).toEqual([
      'case handled: it has not ended after 0.02 s.',
      'An inbox MUST commit all that its work has written when that resolves, and nothing before.',
      '  1. deliver "1" → …',
    ])
  })

  test('is one of the harness whose failing statement does not fail', async () => {
    const { message } = await failureOf('swallowed', { ...plain, fail: async () => {} })
    expect(message).toContain("the harness's fail() resolved, but it must send a statement that fails")
  })
})

describe('anything but a harness is refused with what to pass', () => {
  const { cut: _, ...withoutCut } = plain

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'The harness has no create function: pass { create, write, read, fail,'],
    ['one that cannot read', { ...plain, read: [] }, 'The harness has no read function'],
    [
      'one without a cut',
      withoutCut,
      'The harness has no cut: pass a function, as InboxHarness describes it, or null',
    ],
    [
      'one that creates nothing',
      { ...plain, create: async () => undefined },
      'something without a once function',
    ],
  ])('%s', async (_name, harness, told) => {
    const refusal = await failureOf('handled', harness as InboxHarness<unknown>)
    expect(refusal).toBeInstanceOf(TypeError)
    expect(refusal.message).toContain(told)
  })
})

describe('the cases', () => {
  test('that need what a database cannot do say so, and test nothing', async () => {
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

  test('have ids that are short and differ', () => {
    const ids = inboxCases.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z]+(-[a-z]+){0,3}$/.test(id) || id.length > 24)).toEqual([])
  })

  test('have names that are sentences of what an inbox MUST or SHOULD do', () => {
    const names = inboxCases.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^(MUST|MUST NOT|SHOULD) [a-z].+\.$/.test(name))).toEqual([])
  })

  // Users pin results to these ids, so none may disappear. A new case is added to the list.
  test('are still those that were published', () => {
    expect(inboxCases.map(({ id }) => id)).toMatchInlineSnapshot(`
      [
        "handled",
        "duplicate",
        "handled-empty",
        "failed",
        "failed-error",
        "discarded",
        "discarded-failed",
        "null-key",
        "swallowed",
        "in-flight",
        "in-flight-other",
        "race",
        "pool-of-two",
        "connection-back",
        "late-handled",
        "late-discarded",
        "given-up",
        "nested",
        "lost-idle",
        "lost-running",
        "lost-at-once",
        "lost-commit",
        "lost-reply",
        "key-long",
        "key-case",
        "key-spaces",
        "key-ascii",
        "retained-long",
        "retained",
        "check",
        "connections",
      ]
    `)
  })
})
