import { Discard, RetryLater } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { throws } from '../../support/promises.js'
import { receiving } from '../../support/receiving.js'

const fails = async (): Promise<never> => {
  throw new Error('no paper')
}
/** As RxJS marks its own. */
const observable = { '@@observable': () => observable, subscribe() {} }

const FAILED: readonly [what: string, make: () => unknown, message: RegExp][] = [
  ['a list of promises', () => [Promise.resolve(1), fails(), fails()], /^no paper$/],
  ['a promise of a list of promises', async () => [fails()], /^no paper$/],
  [
    'a Response that is not ok',
    () => new Response(null, { status: 500 }),
    /returned a Response with status 500: return nothing if/,
  ],
  [
    'a result of supabase-js',
    async () => ({ data: null, error: { message: 'no table' } }),
    /a result whose data is null, with an error: throw/,
  ],
  ['a failed fetch of several', async () => [new Response(), fetched(503)], /a Response with status 503/],
  ['an error', () => new TypeError('no'), /returned an error, which counts as thrown: return nothing if/],
  [
    'an Observable',
    () => observable,
    /returned an Observable, and nothing subscribes to it: return lastValueFrom/,
  ],
  ['a generator object', () => (function* () {})(), /a generator object, and nothing runs/],
  ['a function', () => () => fails(), /returned a function, and nothing calls it/],
  [
    'an iterator that works when it is asked',
    () => ({ [Symbol.toStringTag]: 'Iterator Helper' }),
    /a generator object/,
  ],
  [
    'a list that is longer than any, whose last promise rejects',
    () => [...Array.from({ length: 200_000 }, async () => {}), fails()],
    /^no paper$/,
  ],
  ['a promise that cannot be awaited', () => promiseWith('constructor', 'get'), /^not connected$/],
]

/** A response of another class than the global one, as beside a framework that replaces it. */
const fetched = (status: number) => ({ [Symbol.toStringTag]: 'Response', ok: false, status })

/** A promise with an own property that throws when it is called or read. */
const promiseWith = (property: 'then' | 'constructor', own: 'value' | 'get'): Promise<unknown> =>
  Object.defineProperty(Promise.resolve(), property, { [own]: throws(new Error('not connected')) })

const HANDLED: readonly [what: string, make: () => unknown][] = [
  ['a thenable', () => Object.defineProperty({}, 'then', { value: (done: () => void) => done() })],
  ['a promise with a then of its own', () => promiseWith('then', 'value')],
  ['null', () => null],
  ['promises that resolve', () => [Promise.resolve(1), [Promise.resolve(2)], 3]],
  ['a Response', () => new Response()],
  ['a result of supabase-js', async () => ({ data: [], error: null, status: 201 })],
  ['a result with data and an error', () => ({ data: [], error: new Error('partial') })],
  ['an answer of Lambda', () => ({ statusCode: 500, body: 'oops' })],
  ['a row', () => ({ statusCode: 404, ok: false, status: 3, data: null, error: 'first try failed' })],
  [
    'rows',
    () => [
      { statusCode: 404, error: { code: 1 } },
      { data: undefined, error: new Error('old') },
    ],
  ],
  ['methods of any name', () => [{ next() {}, subscribe() {}, pipe() {}, execute() {}, compile() {} }]],
  ['an iterator of what there is', () => new Map().values()],
  ['a cache of promises', () => new Map([[1, new Promise(() => {})]])],
  [
    'an object whose getters throw',
    () =>
      Object.defineProperty({}, 'data', {
        get() {
          throw new Error('lazy')
        },
      }),
  ],
]

describe('what a handler returns', () => {
  test.each(FAILED)('shows that it failed or never ran: %s', async (_, make, message) => {
    const order = orderCreated()
    let runs = 0
    const on = { 'order.created': () => (runs++ === 0 ? make() : undefined) }
    const { send, reports } = receiving({ on })
    expect(await send(order)).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
    expect(reports.map(({ error }) => error.message)).toEqual([expect.stringMatching(message)])
    // It runs again: nothing was recorded.
    expect(await send(order)).toEqual({ outcome: 'handled' })
  })

  test.each(HANDLED)('is a success: %s', async (_, make) => {
    const order = orderCreated()
    const { send, reports } = receiving({ on: { 'order.created': make } })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(reports).toEqual([])
  })

  test('is awaited if it is a list of promises, which is not over before the last one', async () => {
    const done: number[] = []
    const ticket = async (id: number): Promise<void> => {
      for (let turn = 0; turn < id; turn++) await new Promise((resolve) => setImmediate(resolve))
      done.push(id)
    }
    const { send } = receiving({ on: { 'order.created': () => [3, 1, 2].map(ticket) } })
    expect(await send(orderCreated())).toEqual({ outcome: 'handled' })
    expect(done).toEqual([1, 2, 3])
  })
})

describe('what a handler throws, or returns in its place,', () => {
  test.each<[string, (wish: unknown) => unknown]>([
    ['thrown', async (wish) => Promise.reject(wish)],
    ['returned', (wish) => wish],
    ['returned in a list', async (wish) => [1, Promise.resolve([wish])]],
  ])('is recorded if it is a Discard, and runs again if it is a RetryLater: %s', async (_, say) => {
    const wishes = [new RetryLater({ afterSeconds: 60 }), new Discard('free')]
    const { send, reports } = receiving({
      on: { 'order.created': () => say(wishes.shift()) },
    })
    const order = orderCreated()
    expect(await send(order)).toMatchObject({ outcome: 'retry_later', retryAfterSeconds: 60 })
    expect(await send(order)).toMatchObject({ outcome: 'discarded' })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(reports).toEqual([])
  })

  test.each<[string, unknown, RegExp]>([
    [
      'an error with status 200',
      Object.assign(new Error('done'), { status: 200 }),
      /with status 200, and whatever is thrown is a failure. If the event was handled, return instead/,
    ],
    ['a copied RetryLater', structuredClone(new RetryLater({ afterSeconds: 1 })), /a copy of a RetryLater/],
    ['the fields of a Discard', { name: 'Discard', code: 'discarded' }, /a copy of a Discard/],
  ])('%s is a failure, and the report says what to do', async (_, thrown, message) => {
    const { send, reports } = receiving({ on: { 'order.created': throws(thrown) } })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
    expect(reports.map(({ error }) => [error.message, error.cause])).toEqual([
      [expect.stringMatching(message), thrown],
    ])
  })
})
