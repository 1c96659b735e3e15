import { type DurableObjectNamespace, durableObjectStore } from 'tix-webhooks/durable-object'
import { describe, expect, test, vi } from 'vitest'
import { edgeStage, testEdgeStore } from '../../support/edge-stores.js'

const stage = edgeStage()
const { ask } = stage

interface ObjectState {
  readonly count: number
  readonly alarm: number | null
}

const objects = (path: string): Promise<ObjectState[]> =>
  ask(`/objects?store=durable-object&path=${encodeURIComponent(path)}`)

const YEAR = 366 * 24 * 3600 * 1000

describe('durableObjectStore', () => {
  testEdgeStore('durable-object', stage)

  test('spreads events over its objects, each of which has an alarm', async () => {
    for (const { count, alarm } of await objects('/count')) {
      expect(count).toBeGreaterThan(20)
      expect(alarm).toBeGreaterThan(Date.now() + 3_000_000)
    }
  })

  test('deletes records past their retention when an alarm rings, and rings no more without records', async () => {
    await objects(`/shift?ms=${YEAR}`)
    await objects('/ring')
    await vi.waitFor(async () => {
      expect(await objects('/count')).toEqual([
        { count: 0, alarm: null },
        { count: 0, alarm: null },
      ])
    })
    // The next claim sets one again.
    await ask('/claims?store=durable-object&key=after-the-purge')
    const states = await objects('/count')
    expect(states.map(({ count, alarm }) => [count, alarm !== null]).sort()).toEqual([
      [0, false],
      [1, true],
    ])
  })
})

describe('a client that a receiver keeps from one request to the next', () => {
  interface Trap {
    readonly statuses: readonly number[]
    readonly reports: readonly string[]
  }

  test('fails at later deliveries on workerd, and the report has the cure', async () => {
    const { statuses, reports } = await ask<Trap>('/trap?store=captured')
    expect(statuses).toEqual([200, 503, 503])
    expect(reports).toEqual([
      "The idempotency store's claim failed: its client was made in another request, which Workers forbid: make both for each request, store: (request) => …",
    ])
  })

  test('works if a store function makes it for each request', async () => {
    expect(await ask<Trap>('/trap?store=cured')).toEqual({ statuses: [200, 200, 200], reports: [] })
  })
})

const lease = { key: 'k', token: 't' }

/** An error with the marks of the platform. */
const thrown = (message: string, marks: object): Error => Object.assign(new Error(message), marks)

/** A namespace whose objects answer so. */
function namespaceOf(fetch: () => Promise<Response>) {
  const names: string[] = []
  const namespace: DurableObjectNamespace = {
    idFromName: (name) => names.push(name),
    get: () => ({ fetch }),
  }
  return { namespace, names }
}

describe('the error of a Durable Object', () => {
  test.each<[string, () => Promise<Response>, RegExp]>([
    [
      'that has no SQLite storage',
      () => Promise.reject(thrown('SQL is not enabled for this Durable Object class.', { remote: true })),
      /list TixWebhooksObject in new_sqlite_classes/,
    ],
    ['that is overloaded', () => Promise.reject(new Error('overloaded')), /is overloaded, or failed/],
    [
      'of another class',
      async () => new Response('Not found', { status: 404 }),
      /answered with status 404: is the class of the binding TixWebhooksObject/,
    ],
    [
      'of another class, which answers every call',
      async () => new Response('hello'),
      /answered without JSON: is the class of the binding TixWebhooksObject/,
    ],
    [
      'of a class without fetch',
      () => Promise.reject(thrown('Handler does not export a fetch() function.', { remote: true })),
      /is the class of the binding TixWebhooksObject/,
    ],
    [
      'that was reset by the platform',
      () => Promise.reject(thrown('reset because its code was updated', { remote: true, retryable: true })),
      /could not be reached/,
    ],
  ])('%s says what to do', async (_, fetch, message) => {
    const store = durableObjectStore(namespaceOf(fetch).namespace)
    for (const call of [store.release(lease), store.isHandled('k'), store.check()]) {
      const error = await call.then(undefined, (error) => error)
      expect(error).toMatchObject({ code: 'store_unavailable' })
      expect(error.message).toMatch(message)
    }
  })
})

test('an object of a version before isHandled is not taken for one without the record', async () => {
  const store = durableObjectStore(namespaceOf(async () => Response.json({})).namespace)
  await expect(store.isHandled('k')).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/^The Durable Object answered without a result/),
  })
})

test('a full storage of a Durable Object is store_full', async () => {
  const full = thrown('database or disk is full: SQLITE_FULL', { remote: true })
  const store = durableObjectStore(namespaceOf(() => Promise.reject(full)).namespace)
  await expect(store.release(lease)).rejects.toMatchObject({
    code: 'store_full',
    cause: full,
  })
})

test('keys go to all shards, and each to its own', async () => {
  const { namespace, names } = namespaceOf(async () => Response.json({ result: true }))
  const store = durableObjectStore(namespace)
  for (let i = 0; i < 400; i++) await store.release({ key: `orders/order.created/ord_${i}`, token: 't' })
  expect(new Set(names).size).toBe(16)
  const first = names[0]
  await store.release({ key: 'orders/order.created/ord_0', token: 'other' })
  expect(names.at(-1)).toBe(first)
})

test.each<[string, (index: number) => string]>([
  ['repeated', (index) => `${index}-${index}`],
  ['in sequence', (index) => `${1_000_000 + index}`],
  ['multiples of 16', (index) => `${16 * index}`],
])('ids that are %s go to all shards about equally', async (_, idOf) => {
  const { namespace, names } = namespaceOf(async () => Response.json({ result: true }))
  const store = durableObjectStore(namespace)
  for (let i = 0; i < 1_600; i++) await store.release({ key: `orders/order.created/${idOf(i)}`, token: 't' })
  const counts = [...new Set(names)].map((name) => names.filter((other) => other === name).length)
  expect(counts).toHaveLength(16)
  expect(Math.max(...counts)).toBeLessThan(160)
})

describe('durableObjectStore refuses', () => {
  const { namespace } = namespaceOf(async () => new Response())
  test.each<[string, unknown, object | undefined, RegExp]>([
    ['a missing binding', undefined, undefined, /^namespace must be a binding to Durable Objects/],
    ['a stub', { fetch() {} }, undefined, /^namespace must be a binding to Durable Objects/],
    ['no shards', namespace, { shards: 0 }, /^shards must be a whole number of at least 1/],
    ['an unknown option', namespace, { shard: 2 }, /shard/],
  ])('%s', (_, given, options, message) => {
    expect(() => durableObjectStore(given as never, options)).toThrow(TypeError)
    expect(() => durableObjectStore(given as never, options)).toThrow(message)
  })

  test('a claim that the contract does not allow', async () => {
    const store = durableObjectStore(namespace)
    await expect(store.claim({ key: '', token: 't', leaseMs: 1, retainMs: 1 })).rejects.toThrow(TypeError)
    await expect(store.renew(lease, 0)).rejects.toThrow(TypeError)
    await expect(store.complete(lease, 0)).rejects.toThrow(TypeError)
    await expect(store.release({ key: 'k', token: '' })).rejects.toThrow(TypeError)
  })
})
