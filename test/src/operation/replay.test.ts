import type { EventRecord, HandlerContext, Ledger, WebhookOptions } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { BROKEN, failing, inInbox, inStore, KEY, LEDGERS, ORDER } from '../../support/failing.js'
import { never, throws, watch } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { schemaOf } from '../../support/schema-of.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

const orders = (count: number) => Array.from({ length: count }, (_, i) => orderCreated({ id: `ord_${i}` }))

/** A memory store whose ledger has these reads instead of its own. */
function inStoreReading(reads: (ledger: Ledger) => Partial<Record<keyof Ledger, unknown>>) {
  const { store, options } = inStore()
  const { ledger } = store
  return {
    ledger,
    options: { ...options, store: { ...store, ledger: { ...ledger, ...reads(ledger) } as Ledger } },
  }
}

test('gives the handler the event and the context of the delivery', async () => {
  const { handler, receiver, send, records } = failing({ secret: ['another secret', SECRET] })
  const { body } = await sign(ORDER)
  await send(ORDER)
  const [, live] = handler.mock.calls[0] as [unknown, HandlerContext]
  handler.mockImplementation(() => {})
  expect(await receiver.replay(KEY)).toEqual({ outcome: 'handled' })
  const [event, ctx] = handler.mock.calls[1] as [unknown, HandlerContext]
  expect(event).toEqual(ORDER)
  expect(Object.fromEntries(Object.entries(ctx))).toEqual({
    key: KEY,
    attempt: 2,
    deduplicated: true,
    replayed: true,
    signedAt: live.signedAt,
    secretIndex: 1,
    rawBody: body,
    account: undefined,
    platform: undefined,
    tx: undefined,
  })
  expect(live.replayed).toBe(false)
  expect(() => ctx.request).toThrow(/This is a replay without a request: pass one/)
  expect(records).toMatchObject([{ outcome: 'failed' }, { outcome: 'handled', key: KEY, replayed: true }])
})

test.each(LEDGERS)('of two processes that have listed an event one runs it, with %s', async (_, kept) => {
  const shared = kept()
  const [one, other] = [failing({}, shared), failing({}, shared)]
  await one.send(ORDER)
  const outcomes = await Promise.all([one, other].map(({ receiver }) => receiver.replay({}, { request: {} })))
  expect(outcomes.flat().map(({ outcome }) => outcome)).toEqual(['failed', 'in_flight'])
  expect(one.handler.mock.calls.length + other.handler.mock.calls.length).toBe(2)
  expect(await shared.ledger.get(KEY)).toMatchObject({ failure: { count: 1, replays: 1 } })
})

describe('what could not be read', () => {
  test('is read again', async () => {
    const kept = inStore()
    const { send } = failing({}, kept)
    await send(BROKEN)
    await advance(1)
    await send('{"type":')
    const handler = vi.fn()
    const schemas = { 'order.created': schemaOf((value) => ({ value })) } as never
    const { receiver } = failing({ on: { 'order.created': handler }, schemas }, kept)
    const replayed = await receiver.replay({})
    expect(replayed.map(({ key, outcome }) => [key, outcome])).toEqual([
      [KEY, 'handled'],
      [expect.stringMatching(/^orders\/sha256:[\da-f]{64}$/), 'unprocessable'],
    ])
    expect(handler).toHaveBeenCalledOnce()
  })

  /** Kept by its bytes, because the key function failed. */
  async function keptByBytes(kept: ReturnType<typeof inStore | typeof inInbox>) {
    await failing({ key: throws(new Error('a bug')) }, kept).send(ORDER)
    const [event] = await kept.ledger.list()
    expect(event?.key).toMatch(/sha256:/)
    return event?.key ?? ''
  }

  test.each<[string, typeof inStore | typeof inInbox, (event: unknown) => unknown, object, string[]]>([
    ['handled', inStore, () => {}, { outcome: 'handled' }, []],
    ['handled', inInbox, () => {}, { outcome: 'handled' }, []],
    ['failed', inStore, throws(new Error('again')), { outcome: 'failed' }, [KEY, 'the bytes']],
    ['failed', inInbox, throws(new Error('again')), { outcome: 'failed' }, [KEY, 'the bytes']],
  ])(
    'has its own key by now: that is %s, and the bytes go with a final end alone',
    async (_, kept, end, outcome, left) => {
      const shared = kept()
      const bytes = await keptByBytes(shared)
      const { handler, ledger, receiver, send, records } = failing({}, shared)
      handler.mockImplementation(end as never)
      expect(await receiver.replay(bytes)).toMatchObject(outcome)
      expect(records).toMatchObject([{ ...outcome, key: KEY, replayed: true }])
      const keys = (await ledger.list({ order: 'oldest' })).map(({ key }) =>
        key === bytes ? 'the bytes' : key,
      )
      expect(keys.sort()).toEqual(left)
      // A second replay of the bytes does not run what has failed by its own key.
      if (left.length > 0) expect(await receiver.replay(bytes)).toMatchObject({ outcome: 'in_flight' })
      expect(handler).toHaveBeenCalledOnce()
      handler.mockImplementation(() => {})
      await send(ORDER)
      expect(await receiver.replay(bytes)).toEqual(left.length > 0 ? { outcome: 'duplicate' } : undefined)
      expect(await ledger.count()).toBe(0)
    },
  )

  test.each<[string, () => Promise<boolean>, RegExp]>([
    ['fails', throws(new Error('down')), /^down$/],
    ['hangs', () => never(), /forget took too long/],
  ])('stays, and is reported, if its removal %s', async (_, forget, message) => {
    const kept = inStore({ forget })
    const bytes = await keptByBytes(kept)
    const { handler, ledger, receiver, reports } = failing({}, kept)
    handler.mockImplementation(() => {})
    const replayed = receiver.replay(bytes)
    await advance(2)
    expect(await replayed).toEqual({ outcome: 'handled' })
    expect(reports.map(({ error }) => error.message)).toEqual([expect.stringMatching(message)])
    expect(await ledger.count()).toBe(1)
  })
})

test('the key is that of the event, also if the key function needs a request', async () => {
  const key = vi.fn((_event: unknown, ctx: { request: unknown }) => String(ctx.request))
  const { handler, receiver, send } = failing({ key })
  await send(ORDER, { request: 'r1' })
  handler.mockImplementation(() => {})
  expect(await receiver.replay('orders/order.created/r1')).toEqual({ outcome: 'handled' })
  expect(key).toHaveBeenCalledOnce()
  expect(await send(ORDER, { request: 'r1' })).toEqual({ outcome: 'duplicate' })
})

describe('several', () => {
  test('those that match, the first received first, each once though it fails again, and at most the limit', async () => {
    const { ledger, handler, receiver, send } = failing()
    for (const order of orders(30)) {
      await send(order)
      await advance(1)
    }
    await send(lifecycleEvent('event.published'))
    const first = await receiver.replay({ kind: 'order.created', limit: 25 })
    expect(first.map(({ key, outcome }) => [key, outcome])).toEqual(
      orders(25).map((_, i) => [`orders/order.created/ord_${i}`, 'failed']),
    )
    expect(await ledger.count({ kind: 'order.created' })).toBe(30)
    handler.mockImplementation(() => {})
    const [group] = await ledger.groups()
    const second = await receiver.replay({ group: group?.group, limit: 1_000 })
    expect(second).toHaveLength(31)
    expect(new Set(second.map(({ outcome }) => outcome))).toEqual(new Set(['handled']))
    expect(await receiver.replay({})).toEqual([])
  })

  test('of the built-in store too', async () => {
    const { handler, receiver, send } = failing({ store: undefined, parkAfter: { attempts: 2 } })
    for (const order of orders(30)) {
      await send(order)
      await advance(1)
    }
    await send(orderCreated({ id: 'ord_0' }))
    await send(lifecycleEvent('event.published'))
    const keys = orders(30).map((_, i) => `orders/order.created/ord_${i}`)
    const replayed = async (filter: object) => (await receiver.replay(filter)).map(({ key }) => key)
    expect(await replayed({ state: 'parked' })).toEqual(keys.slice(0, 1))
    expect(await replayed({ kind: 'order.created', limit: 25 })).toEqual(keys.slice(0, 25))
    handler.mockImplementation(() => {})
    expect(await receiver.replay(keys[29] as string)).toEqual({ outcome: 'handled' })
    expect(await replayed({ kind: 'order.created' })).toEqual(keys.slice(0, 29))
    expect(await replayed({})).toEqual([expect.stringContaining('event.published')])
    expect(await receiver.replay(keys[0] as string)).toBeUndefined()
  })

  test('of one state', async () => {
    const kept = inStore()
    await failing({ parkAfter: { attempts: 1 } }, kept).send(ORDER)
    const { receiver, send } = failing({}, kept)
    await send(orderCreated({ id: 'ord_2' }))
    expect(await receiver.replay({ state: 'parked' })).toMatchObject([{ key: KEY }])
    expect(await receiver.replay({ state: 'failing' })).toMatchObject([{ key: 'orders/order.created/ord_2' }])
  })

  test('those that no handler takes any more do not keep the others from their turn', async () => {
    const kept = inStore()
    const before = failing({}, kept)
    for (let i = 0; i < 25; i++)
      await before.send(lifecycleEvent('event.cancelled', { event: { id: `evt_${i}` } }))
    await advance(1)
    await before.send(ORDER)
    const { receiver, ledger } = failing({ on: { 'order.created': () => {} } }, kept)
    const outcomes = (await receiver.replay({ limit: 3 })).map(({ outcome }) => outcome)
    expect(outcomes.filter((outcome) => outcome !== 'unhandled')).toEqual(['handled'])
    expect(await ledger.count()).toBe(25)
  })

  test('few at once, though they outlive their answers', async () => {
    const { handler, receiver, send } = failing({ timeoutSeconds: 1 })
    for (const order of orders(40)) await send(order)
    let [running, most] = [0, 0]
    handler.mockImplementation(async () => {
      most = Math.max(most, ++running)
      await sleep(5)
      running -= 1
    })
    const replayed = receiver.replay({})
    await advance(60)
    expect((await replayed).map(({ outcome }) => outcome)).toEqual(Array(40).fill('timed_out'))
    expect([most, running]).toEqual([4, 0])
  })

  test('and those whose handlers hang hold up the others until they are given up', async () => {
    const { handler, receiver, send } = failing({ timeoutSeconds: 1, maxRunSeconds: 10 })
    for (const order of orders(5)) await send(order)
    handler.mockImplementation(never)
    const replayed = watch(receiver.replay({}))
    await advance(50)
    expect(replayed.isResolved).toBe(false)
    await advance(10)
    expect(replayed.isResolved).toBe(true)
    await advance(10)
  })

  test('until a drain', async () => {
    const { handler, receiver, send } = failing()
    for (const order of orders(25)) await send(order)
    handler.mockImplementation(() => void receiver.drain())
    expect(await receiver.replay({})).toHaveLength(20)
    expect(await receiver.replay(KEY.replace('ord_1', 'ord_24'))).toMatchObject({ code: 'draining' })
    expect(await receiver.replay({})).toEqual([])
  })
})

test.each([
  ['another namespace', { namespace: 'listing' }, KEY.replace('orders', 'listing')],
  [
    'an account',
    { secret: undefined, account: () => ({ id: 'acme', secret: SECRET }) },
    KEY.replace('/', '/acme/'),
  ],
])('the events of %s are not found', async (_, options, key) => {
  const kept = inStore()
  await failing(options as never, kept).send(ORDER)
  expect(await kept.ledger.count()).toBe(1)
  const { receiver } = failing({}, kept)
  expect(await receiver.replay(key)).toBeUndefined()
  expect(await receiver.replay({})).toEqual([])
})

describe('with accounts', () => {
  const accounts = { acme: { id: 'acme', secret: SECRET }, globex: { id: 'globex', secret: SECRET } }
  const account = (request: string) => accounts[request as keyof typeof accounts]
  const withAccounts = (find: unknown) => failing({ secret: undefined, account: find } as never)

  test('an account replays its own events alone, and they stay its own', async () => {
    const { handler, ledger, receiver, send, records } = withAccounts(account)
    for (const request of ['acme', 'globex']) await send(ORDER, { request })
    await receiver.replay({}, { request: 'acme' })
    expect(records.at(-1)).toMatchObject({ account: 'acme', replayed: true })
    const key = 'orders/acme/order.created/ord_1'
    expect(await ledger.list({ account: 'acme' })).toMatchObject([{ key, failure: { replays: 1 } }])
    handler.mockImplementation(() => {})
    expect(await receiver.replay('orders/globex/order.created/ord_1', { request: 'acme' })).toBeUndefined()
    expect(await receiver.replay({}, { request: 'acme' })).toMatchObject([{ key, outcome: 'handled' }])
    const [, ctx] = handler.mock.calls.at(-1) as [unknown, HandlerContext<string>]
    expect([ctx.account, ctx.request]).toEqual([accounts.acme, 'acme'])
    await expect(receiver.replay({ account: 'globex' }, { request: 'acme' })).rejects.toThrow(
      /An account replays its own events alone/,
    )
    await expect(receiver.replay({})).rejects.toThrow(/replay needs a request, because the option account/)
    await expect(receiver.replay({}, { request: 'initech' })).rejects.toThrow(/knows no account/)
  })

  test('an account function that fails: its error is the cause, and no sender retries', async () => {
    const down = new Error('ECONNREFUSED')
    await expect(withAccounts(throws(down)).receiver.replay({}, { request: 'acme' })).rejects.toMatchObject({
      code: 'account_unavailable',
      message: 'Your account function failed: nothing was replayed.',
      cause: down,
    })
  })
})

describe('with a store that is a function', () => {
  test('it needs a request', async () => {
    const { store } = inStore()
    const { receiver, send, handler } = failing({ store: () => store })
    await send(ORDER)
    handler.mockImplementation(() => {})
    await expect(receiver.replay(KEY)).rejects.toThrow(/replay needs a request, because the option store/)
    expect(await receiver.replay(KEY, { request: {} })).toEqual({ outcome: 'handled' })
  })

  test.each<[string, () => unknown, object]>([
    [
      'fails',
      throws(new Error('no binding')),
      { code: 'store_unavailable', message: /^Your store function failed/ },
    ],
    [
      'returns none',
      () => ({}),
      { code: 'misconfigured', message: /^Your store function returned an object/ },
    ],
    ['hangs', () => never(), { code: 'store_unavailable', message: /took too long: nothing was replayed/ }],
    ['makes no ledger', () => storeWith({}).store, { name: 'TypeError', message: /^replay needs a ledger/ }],
  ])('that %s, it rejects', async (_, store, error) => {
    const { receiver } = failing({ store: store as never })
    const { message, ...more } = error as { message: RegExp }
    const rejected = expect(receiver.replay({}, { request: {} })).rejects.toMatchObject({
      ...more,
      message: expect.stringMatching(message),
    })
    await advance(2)
    await rejected
  })
})

test.each<[Partial<WebhookOptions>, unknown, RegExp]>([
  [{ store: storeWith({}).store }, KEY, /^replay needs a ledger, which keeps/],
  [
    inStoreReading(() => ({ get: () => Promise.reject(new Error('down')) })).options,
    KEY,
    /nothing was replayed: down/,
  ],
  [{}, { limit: 0 }, /limit must be/],
  [{}, { state: 'handled' }, /^state must be one of failing, parked/],
  [{}, { orderId: 'x' }, /no option orderId/],
  [{}, undefined, /replay needs the key of an event, or a filter such as \{ group \}, not undefined/],
  [{}, { key: KEY }, /replay takes the key itself/],
  [{}, { group: undefined }, /group is undefined, which would not narrow the replay/],
  [{}, '', /^key must be 1 to 255 characters long, and this one is empty/],
  [{}, new Date(), /filter of replay must be a plain object/],
  [{}, Object.create({ group: 'a' }), /filter of replay must be a plain object/],
])('with %o, replay of %o is refused', async (options, what, message) => {
  await expect(receiving({ namespace: 'orders', ...options }).receiver.replay(what as never)).rejects.toThrow(
    message,
  )
})

test('what is not failing or parked is not found', async () => {
  const { handler, receiver, send } = failing()
  expect(await receiver.replay('nothing')).toBeUndefined()
  handler.mockImplementation(() => {})
  await send(ORDER)
  expect(await receiver.replay(KEY)).toBeUndefined()
})

describe('a ledger of another backend', () => {
  test('that hangs: it rejects', async () => {
    const { receiver } = failing(
      {},
      inStoreReading(() => ({ get: never })),
    )
    const rejected = expect(receiver.replay(KEY)).rejects.toMatchObject({ code: 'store_unavailable' })
    await advance(10)
    await rejected
  })

  test.each<[string, (event: EventRecord) => unknown]>([
    ['a date as text', (event) => ({ ...event, signedAt: event.signedAt?.toISOString() })],
    ['an account that is null', (event) => ({ ...event, account: null })],
    ['another than was asked for', (event) => ({ ...event, key: `${event.key}0`, namespace: 'listing' })],
    ['no bytes', ({ rawBody: _, ...event }) => event],
    ['no number of failures', (event) => ({ ...event, failure: {} })],
  ])('that returns %s: nothing runs, and what is kept stays as it is', async (_, broken) => {
    const kept = inStoreReading(({ get, list }) => ({
      get: async (key: string) => broken((await get(key)) as EventRecord),
      list: async () => (await list({ bodies: true })).map(broken),
    }))
    const { handler, ledger, receiver, send } = failing({}, kept)
    await send(ORDER)
    const before = await ledger.get(KEY)
    for (const what of [KEY, {}]) {
      await expect(receiver.replay(what)).rejects.toMatchObject({ code: 'store_misbehaved' })
    }
    expect(await ledger.get(KEY)).toEqual(before)
    expect(handler).toHaveBeenCalledOnce()
    await receiver.drain()
  })

  test.each([{ group: 'a3c4f9e81b5d2760' }, { kind: 'event.published' }, { state: 'parked' as const }])(
    'whose list ignores the condition %o: nothing runs',
    async (filter) => {
      const kept = inStoreReading(({ list }) => ({ list: () => list({ bodies: true }) }))
      const { handler, receiver, send } = failing({}, kept)
      await send(ORDER)
      await expect(receiver.replay(filter)).rejects.toThrow(
        new RegExp(`with another ${Object.keys(filter)[0]} than was asked for`),
      )
      expect(handler).toHaveBeenCalledOnce()
    },
  )

  test('whose list ignores the limit and the position: each is replayed once', async () => {
    const { receiver, send } = failing(
      {},
      inStoreReading(({ list }) => ({ list: () => list({ bodies: true }) })),
    )
    for (const order of orders(2)) await send(order)
    expect(await receiver.replay({})).toMatchObject([{ outcome: 'failed' }, { outcome: 'failed' }])
  })

  test('whose list breaks off: what has run is returned', async () => {
    const { ledger } = inStore()
    const list = vi.fn(ledger.list)
    const kept = inStoreReading((own) => {
      list.mockImplementation(own.list)
      return { list }
    })
    const { handler, receiver, send } = failing({}, kept)
    for (const order of orders(25)) await send(order)
    handler.mockImplementation(() => {})
    expect(await receiver.replay({ limit: 2 })).toHaveLength(2)
    expect(list.mock.calls.map(([query]) => query?.limit)).toEqual([2])
    list.mockImplementationOnce(kept.ledger.list).mockRejectedValueOnce(new Error('gone'))
    expect(await receiver.replay({})).toHaveLength(20)
    expect(await receiver.replay({})).toHaveLength(3)
  })
})
