import { RetryLater } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { firstUserFrame } from '../../../../src/lib/errors/read-error.js'
import { orderCreated } from '../../../support/deliveries.js'
import { failing } from '../../../support/failing.js'

/** The failure of a handler that throws this. */
async function failureOf(throws: () => unknown, kind = 'order.created') {
  const { handler, ledger, send } = failing()
  handler.mockImplementation(async () => {
    throw throws()
  })
  await send({ ...orderCreated({ id: 'ord_1' }), type: kind })
  const failure = (await ledger.list())[0]?.failure
  return { message: failure?.message, group: failure?.group ?? 'none' }
}

describe('the message', () => {
  const postgres = (detail: string) =>
    Object.assign(new Error('duplicate key value violates unique constraint "buyers_email_key"'), {
      code: '23505',
      severity: 'ERROR',
      detail,
    })

  test.each<[string, () => unknown, string]>([
    [
      'is that of the error, with its causes',
      () => new Error('a', { cause: new Error('b') }),
      'a; caused by: b',
    ],
    [
      'has no bound parameters of a database',
      () =>
        new Error('Failed query: insert into buyers values ($1)\nparams: ada@example.com', {
          cause: postgres('Key (email)=(ada@example.com) already exists.'),
        }),
      'Failed query: insert into buyers values ($1)\nparams: [redacted]; caused by: duplicate key value violates unique constraint "buyers_email_key"',
    ],
    [
      'has no credentials',
      () => new Error('postgres://app:hunter2@db/app refused whsec_abc+/= and Bearer sk_live.1'),
      'postgres://[redacted]@db/app refused [redacted] and Bearer [redacted]',
    ],
    [
      'keeps words that only look like one',
      () => new Error('Basic validation failed: see https://docs.example/a?b=c@d and bearer tokens'),
      'Basic validation failed: see https://docs.example/a?b=c@d and bearer tokens',
    ],
    ['is at most 1,000 characters long', () => new Error('x'.repeat(5_000)), 'x'.repeat(1_000)],
    ['can be stored anywhere', () => new Error('a\0b\ud800c'), 'a\ufffdb\ufffdc'],
  ])('%s', async (_, throws, message) => {
    expect((await failureOf(throws)).message).toBe(message)
  })
})

describe('the group', () => {
  const bug = (message: string): Error => new TypeError(message)
  const query = (code: string) => Object.assign(bug('query failed'), { code })
  /** An error without a frame of the app. */
  const client = (code: string, cause?: unknown) =>
    Object.assign(new Error('failed', { cause }), {
      code,
      stack: 'Error: failed\n    at parse (/app/node_modules/pg/lib/parser.js:1:1)\n    at node:net:5:6',
    })
  const noted = (frame: string) => bug(`bad note:\n    ${frame}`)

  test.each<[string, () => unknown, () => unknown]>([
    ['another message', () => bug('order 1'), () => bug('order 2')],
    ['a message with text like a frame', () => noted('at x (a.js:1:1)'), () => noted('at y (b.js:2:2)')],
    ['the same code, where there is no frame of the app', () => client('23505'), () => client('23505')],
  ])('is the same for %s', async (_, one, other) => {
    const { group } = await failureOf(one)
    expect(group).toMatch(/^[\da-f]{16}$/)
    expect((await failureOf(other)).group).toBe(group)
  })

  test.each<[string, () => unknown, () => unknown]>([
    ['place', () => bug('here'), () => new TypeError('there')],
    ['name', () => bug('one'), () => Object.assign(bug('one'), { name: 'RangeError' })],
    ['code: a helper of the app throws for many reasons', () => query('23505'), () => query('42P01')],
    ['end', () => bug('one'), () => new RetryLater({ afterSeconds: 1 })],
    ['value that is no error', () => 'no error', () => undefined],
    ['code, where there is no frame of the app', () => client('23505'), () => client('40001')],
    ['cause, if that has a frame', () => client('23505'), () => client('23505', bug('cause'))],
  ])('is another one for another %s', async (_, one, other) => {
    expect((await failureOf(one)).group).not.toBe((await failureOf(other)).group)
  })

  test('is of all kinds for an error with a frame, and of one kind without', async () => {
    const bare = () => Object.assign(new Error('x'), { stack: 'Error: x' })
    const groupsOf = async (thrown: () => unknown) => [
      (await failureOf(thrown)).group,
      (await failureOf(thrown, 'event.published')).group,
    ]
    expect(new Set(await groupsOf(() => bug('x'))).size).toBe(1)
    expect(new Set(await groupsOf(bare)).size).toBe(2)
  })

  test('of a result is by what was returned', async () => {
    const results = [500, 404].map((status) => new Response(null, { status }))
    const on = { 'order.created': () => results.shift() }
    const { ledger, send } = failing({ on })
    for (const id of ['ord_1', 'ord_2']) await send(orderCreated({ id }))
    expect(await ledger.groups()).toHaveLength(2)
  })

  test('of data that does not fit is by the places in it, whatever their number', async () => {
    const { ledger, send } = failing()
    const withTickets = (id: string, tickets: unknown) => {
      const order = orderCreated({ id })
      return { ...order, data: { ...order.data, tickets } }
    }
    await send(withTickets('a', [{ id: 1, tier: 'x' }]))
    await send(
      withTickets('b', [
        { id: 't', tier: 'x' },
        { id: 2, tier: 'x' },
        { id: 3, tier: 'x' },
      ]),
    )
    await send(withTickets('c', [{ id: 't', tier: 1 }]))
    const groups = await ledger.groups()
    expect(groups.map(({ count, code }) => [count, code]).sort()).toEqual([
      [1, 'data_mismatch'],
      [2, 'data_mismatch'],
    ])
  })
})

test.each([
  ['    at order.created (/srv/releases/7/my app/handlers.js:10:5)', 'order.created (handlers.js:10:5)'],
  ['    at async file:///srv/app/handlers.js?v=12:3:4', 'handlers.js:3:4'],
  ['    at Object.run [as order] (C:\\app\\handlers.js:3:4)', 'Object.run [as order] (handlers.js:3:4)'],
  ['    at new Order (file:///srv/order.mjs:1:2)', 'new Order (order.mjs:1:2)'],
  ['    at Array.map (<anonymous>)', undefined],
  ['    at async Promise.all (index 0)', undefined],
  ['    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)', undefined],
  ['    at parse (/app/node_modules/pg/lib/parser.js:1:1)', undefined],
  ['    at async fetch (ext:deno_fetch/26_fetch.js:2:7360)', undefined],
  ['    at Parser.parse (file:///cache/deno/npm/packages.example/pg/8.23.1/lib/parser.js:1:1)', undefined],
  ['    at parse (https://modules.example/pg/mod.ts:1:1)', undefined],
  ['    at run (file:///srv/npm/handlers.js:1:2)', 'run (handlers.js:1:2)'],
])('the first frame of the app in %j is %j', (line, frame) => {
  const message = 'failed at 1:2\n    at note (order.txt:1:2)'
  expect(firstUserFrame({ message, stack: `TypeError: ${message}\n${line}` })).toBe(frame)
})
