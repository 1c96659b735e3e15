import { runInNewContext } from 'node:vm'
import { answerTo, type ClaimResult, createReceiver, memoryStore, RetryLater } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { receiving, storeWith } from '../../support/receiving.js'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Values that a handler throws: some throw when they are inspected. */
const strange: [string, () => unknown][] = [
  ['an error whose message is an object', () => Object.assign(new Error(), { message: Object.create(null) })],
  [
    'an error whose message throws',
    () =>
      Object.defineProperty(new Error(), 'message', {
        get: () => {
          throw new Error('again')
        },
      }),
  ],
  [
    'a RetryLater whose afterSeconds throws',
    () =>
      Object.defineProperty(new RetryLater({ afterSeconds: 5 }), 'afterSeconds', {
        get: () => {
          throw new Error('again')
        },
      }),
  ],
  ['a promise that rejects', () => Promise.reject(new Error('from an asynchronous wrapper'))],
  [
    'a proxy that was revoked',
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    },
  ],
  [
    'a RetryLater behind a proxy that traps',
    () =>
      new Proxy(new RetryLater({ afterSeconds: 5 }), {
        get: () => {
          throw new Error('again')
        },
      }),
  ],
]

describe('a handler that throws something strange', () => {
  test.each(strange)('has failed, and is answered: %s', async (_, make) => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const receiver = createReceiver({
      secret: SECRET,
      on: {
        'order.created': () => {
          throw make()
        },
      },
    })
    const outcome = await receiver.receive({ ...(await sign(orderCreated())), request: null })
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
    expect(printed).toHaveBeenCalledOnce()
  })
})

test.each([
  ['of another realm', runInNewContext('new Error("boom")')],
  [
    'of a class that has a name of its own, as that of an aborted fetch',
    new DOMException('boom', 'AbortError'),
  ],
])('a handler that throws an error %s has failed with that very error', async (_, error) => {
  const { send } = receiving({ on: { 'order.created': () => Promise.reject(error) } })
  expect((await send(orderCreated())).error).toBe(error)
})

test.each<[unknown, string]>([
  [Number.NaN, '5'],
  [undefined, '5'],
  ['60', '5'],
  [Number.POSITIVE_INFINITY, '86400'],
  [-1, '1'],
  [1.5, '2'],
])(
  'a RetryLater whose afterSeconds was overwritten by %s says retry-after: %s',
  async (afterSeconds, header) => {
    const { send } = receiving({
      on: {
        'order.created': () => {
          throw Object.assign(new RetryLater({ afterSeconds: 60 }), { afterSeconds })
        },
      },
    })
    const outcome = await send(orderCreated())
    expect(outcome.outcome).toBe('retry_later')
    expect(answerTo(outcome).headers['retry-after']).toBe(header)
  },
)

test.each<[string, () => unknown, RegExp[]]>([
  ['true', () => true, [/ended as handled, but the request had already been answered/]],
  ['false', () => false, []],
  ['a promise', async () => true, []],
  [
    'an error',
    () => {
      throw new Error('gone')
    },
    [],
  ],
])(
  'an adapter whose isAnswered gives %s changes no outcome, and true is reported',
  async (_, isAnswered, messages) => {
    const { send, reports } = receiving({ on: { 'order.created': () => {} } })
    const outcome = await send(orderCreated(), { isAnswered: isAnswered as () => boolean })
    expect(outcome).toEqual({ outcome: 'handled' })
    expect(reports.map(({ error }) => error.message)).toEqual(
      messages.map((message) => expect.stringMatching(message)),
    )
    for (const { error } of reports) expect(error).toHaveProperty('code', 'misconfigured')
  },
)

describe('an async function for an option that must be synchronous', () => {
  const unheard = (): never => Promise.reject(new Error('unheard')) as never

  test.each([
    ['key', { key: unheard }, /returned a promise/],
    ['signedContent', { signature: { signedContent: unheard } }, /returned a promise/],
    ['now', { now: unheard }, /returned a promise/],
    [
      'the clock of a store',
      { store: memoryStore({ now: unheard }), namespace: 'test' },
      /returned a promise/,
    ],
    [
      'each secret of a list',
      { secret: () => [unheard(), unheard()] },
      /secret function returned\[0\] must be a string or a Uint8Array, not a promise/,
    ],
  ])('as %s is misconfigured, and its rejection is not left unhandled', async (_, options, message) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const { send, reports } = receiving({ ...options, on: { 'order.created': () => {} } } as object)
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
    expect(reports[0]?.error.message).toMatch(message)
    await new Promise(setImmediate)
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })
})

test('a claim that was granted and whose reply was lost does not block the event', async () => {
  let lose = true
  const { store, namespace, base } = storeWith({
    claim: async (request) => {
      const result = await base.claim(request)
      if (lose) throw new Error('connection reset')
      return result
    },
  })
  const { send } = receiving({ store, namespace, on: { 'order.created': () => {} } })
  const order = orderCreated()
  expect(await send(order)).toMatchObject({ outcome: 'unavailable' })
  lose = false
  expect(await send(order)).toEqual({ outcome: 'handled' })
})

test('a claim that throws when it is looked at is answered, and released', async () => {
  const { store, namespace, base } = storeWith({
    claim: async (request) => {
      const result = await base.claim(request)
      return Object.defineProperty({ ...result }, 'attempt', {
        get: () => {
          throw new Error('not loaded')
        },
      }) as ClaimResult
    },
  })
  const { send, receiver } = receiving({ store, namespace, on: { 'order.created': () => {} } })
  const order = orderCreated()
  const { code, error } = await send(order)
  expect(code).toBe('store_misbehaved')
  expect(error).toMatchObject({ cause: { message: 'not loaded' } })
  await receiver.drain()
  const again = receiving({ store: base, namespace, on: { 'order.created': () => {} } })
  expect(await again.send(order)).toEqual({ outcome: 'handled' })
})

test('the body reader is called at once: a stream that flows already would lose its first bytes', async () => {
  const { receiver } = receiving()
  const read = vi.fn(() => Promise.reject(new Error('gone')))
  const receiving_ = receiver.receive({ header: 't=1,v1=ab', body: read, request: null })
  expect(read).toHaveBeenCalledOnce()
  await receiving_
})

test.each([
  ['a Date', () => new Date() as unknown as number],
  ['a promise', () => Promise.resolve(0) as unknown as number],
  ['NaN', () => Number.NaN],
])('a clock that gives %s is misconfigured, and the event is neither run nor lost', async (_, now) => {
  const handler = vi.fn()
  const { send, reports } = receiving({ now, on: { 'order.created': handler } })
  expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
  expect(reports[0]?.error.message).toMatch(/^now returned .*: it must return milliseconds/)
  expect(handler).not.toHaveBeenCalled()
})

describe('options that look empty are refused when the receiver is made', () => {
  const handler = () => {}
  test.each<[string, object, RegExp]>([
    ['a Map of handlers', { on: new Map([['order.created', handler]]) }, /^on must be a plain object/],
    ['a list of handlers', { on: [handler] }, /^on must be a plain object/],
    ['a promise of handlers', { on: Promise.resolve({}) }, /^on must be a plain object.*not a promise/],
    [
      'a Map of schemas',
      { on: { 'order.created': handler }, schemas: new Map() },
      /^schemas must be a plain object/,
    ],
    [
      'a schema for a group',
      { on: { 'order.created': handler }, schemas: { 'event.*': {} } },
      /^schemas\["event\.\*"\] is not a kind/,
    ],
    [
      'a schema for all',
      { on: { 'order.created': handler }, schemas: { '*': {} } },
      /^schemas\["\*"\] is not a kind/,
    ],
    ['a generator', { on: { 'order.created': function* () {} } }, /must not be a generator function/],
    ['an async generator', { on: { 'order.created': async function* () {} } }, /must not be a generator/],
  ])('%s', (_, options, message) => {
    const make = () => createReceiver({ secret: SECRET, ...options } as { secret: string; on: object })
    expect(make).toThrow(TypeError)
    expect(make).toThrow(message)
  })
})
