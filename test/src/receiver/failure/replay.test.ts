import {
  type Failure,
  type HandlerContext,
  memoryFailures,
  memoryStore,
  type WebhookOptions,
} from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../../support/deliveries.js'
import { failing, KEY, ORDER } from '../../../support/failing-receiver.js'
import { never } from '../../../support/promises.js'
import { receiving, storeWith } from '../../../support/receiving.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

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

test('what could not be read is read again', async () => {
  const failures = memoryFailures()
  const broken = { ...ORDER, data: { ...ORDER.data, tickets: null } }
  const before = failing({ failures })
  await before.send(broken)
  await advance(1)
  await before.send('{"type":')
  const handler = vi.fn()
  const unchecked = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } }
  const after = failing({
    failures,
    on: { 'order.created': handler },
    schemas: { 'order.created': unchecked } as never,
  })
  const replayed = await after.receiver.replay({})
  expect(replayed.map(({ key, outcome }) => [key, outcome])).toEqual([
    [KEY, 'handled'],
    [expect.stringMatching(/^orders\/sha256:[\da-f]{64}$/), 'unprocessable'],
  ])
  expect(handler).toHaveBeenCalledOnce()
})

test('the key is that of the failure, also if the key function needs a request', async () => {
  const failures = memoryFailures()
  const key = vi.fn((_event: unknown, ctx: { request: unknown }) => String(ctx.request))
  const { handler, receiver, send } = failing({ failures, key })
  await send(ORDER, { request: 'r1' })
  expect(await failures.list()).toMatchObject([{ key: 'orders/order.created/r1' }])
  handler.mockImplementation(() => {})
  expect(await receiver.replay('orders/order.created/r1')).toEqual({ outcome: 'handled' })
  expect(key).toHaveBeenCalledOnce()
  expect(await send(ORDER, { request: 'r1' })).toEqual({ outcome: 'duplicate' })
})

describe('several', () => {
  test('those that match, the longest failed first, each once, and at most the limit', async () => {
    const { failures, handler, receiver, send } = failing()
    for (let i = 0; i < 30; i++) {
      await send(orderCreated({ id: `ord_${i}` }))
      await advance(1)
    }
    await send(lifecycleEvent('event.published'))
    const first = await receiver.replay({ kind: 'order.created', limit: 25 })
    expect(new Set(first.map(({ key }) => key))).toEqual(
      new Set(Array.from({ length: 25 }, (_, i) => `orders/order.created/ord_${i}`)),
    )
    expect(new Set(first.map(({ outcome }) => outcome))).toEqual(new Set(['failed']))
    handler.mockImplementation(() => {})
    await advance(1)
    const [group] = await failures.groups()
    const second = await receiver.replay({ group: group?.group, limit: 1_000 })
    expect(second).toHaveLength(31)
    expect(new Set(second.map(({ outcome }) => outcome))).toEqual(new Set(['handled']))
    expect(await receiver.replay({})).toEqual([])
  })

  test('those that no handler takes any more do not keep the others from their turn', async () => {
    const failures = memoryFailures()
    const before = failing({ failures })
    for (let i = 0; i < 25; i++)
      await before.send(lifecycleEvent('event.cancelled', { event: { id: `evt_${i}` } }))
    await advance(1)
    await before.send(ORDER)
    const after = failing({ failures, on: { 'order.created': () => {} } })
    const replayed = await after.receiver.replay({ limit: 3 })
    expect(replayed.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'unhandled')).toEqual([
      'handled',
    ])
    expect(await failures.count()).toBe(25)
  })

  test('those that fail again do not hide the others, though these are dated later, by the clock of another process', async () => {
    const failures = memoryFailures()
    const { receiver, send } = failing({ failures })
    for (let i = 0; i < 30; i++) await send(orderCreated({ id: `ord_${i}` }))
    const others = (await failures.list({ order: 'oldest' })).slice(20)
    const ahead = new Date(Date.now() + 60_000)
    for (const other of others) await failures.keep({ ...other, failedAt: ahead, isReplay: false })
    await advance(1)
    expect(new Set((await receiver.replay({})).map(({ key }) => key)).size).toBe(30)
  })
})

test('the failures of another namespace are not found', async () => {
  const failures = memoryFailures()
  const one = failing({ failures })
  await one.send(ORDER)
  const other = failing({ failures, namespace: 'listing' })
  expect(await other.receiver.replay(KEY)).toBeUndefined()
  expect(await other.receiver.replay({})).toEqual([])
})

describe('with accounts', () => {
  const accounts = { acme: { id: 'acme', secret: SECRET }, globex: { id: 'globex', secret: SECRET } }
  const account = (request: string) => accounts[request as keyof typeof accounts]

  test('an account replays its own failures alone', async () => {
    const { handler, receiver, send } = failing({ secret: undefined, account: account as never } as never)
    for (const request of ['acme', 'globex']) await send(ORDER, { request })
    handler.mockImplementation(() => {})
    expect(await receiver.replay('orders/globex/order.created/ord_1', { request: 'acme' })).toBeUndefined()
    expect(await receiver.replay({}, { request: 'acme' })).toMatchObject([
      { key: 'orders/acme/order.created/ord_1', outcome: 'handled' },
    ])
    const [, ctx] = handler.mock.calls.at(-1) as [unknown, HandlerContext<string>]
    expect([ctx.account, ctx.request]).toEqual([accounts.acme, 'acme'])
    await expect(receiver.replay({ account: 'globex' }, { request: 'acme' })).rejects.toThrow(
      /An account replays its own failures alone/,
    )
    await expect(receiver.replay({})).rejects.toThrow(/replay needs a request, because the option account/)
    await expect(receiver.replay({}, { request: 'initech' })).rejects.toThrow(/knows no account/)
  })
})

test('a store that is a function needs a request', async () => {
  const store = memoryStore()
  const { receiver, send, handler } = failing({ store: () => store })
  await send(ORDER)
  handler.mockImplementation(() => {})
  await expect(receiver.replay(KEY)).rejects.toThrow(/replay needs a request, because the option store/)
  expect(await receiver.replay(KEY, { request: {} })).toEqual({ outcome: 'handled' })
})

test('without failures, or with failures that cannot be read, it rejects', async () => {
  const { receiver } = receiving({})
  await expect(receiver.replay(KEY)).rejects.toThrow(/replay needs the option failures/)
  const down = { ...memoryFailures(), get: () => Promise.reject(new Error('down')) }
  await expect(failing({ failures: down }).receiver.replay(KEY)).rejects.toThrow('down')
  await expect(failing().receiver.replay({ limit: 0 })).rejects.toThrow(/limit must be/)
  await expect(failing().receiver.replay({ orderId: 'x' } as never)).rejects.toThrow(/no option orderId/)
  expect(await failing().receiver.replay('nothing')).toBeUndefined()
})

test('a draining receiver replays nothing', async () => {
  const { receiver, send, handler } = failing()
  await send(ORDER)
  await receiver.drain()
  expect(await receiver.replay(KEY)).toMatchObject({ outcome: 'unavailable', code: 'draining' })
  expect(await receiver.replay({})).toMatchObject([{ key: KEY, code: 'draining' }])
  expect(handler).toHaveBeenCalledOnce()
})

test.each<[unknown, RegExp]>([
  [undefined, /replay needs the key of a failure, or a filter such as \{ group \}, not undefined/],
  [{ key: KEY }, /replay takes the key itself/],
  [{ group: undefined }, /group is undefined, which would not narrow the replay/],
  ['', /^key must be 1 to 255 characters long, and this one is empty/],
  [new Date(), /filter of replay must be a plain object/],
  [Object.create({ group: 'a' }), /filter of replay must be a plain object/],
])('replay of %o is refused', async (what, message) => {
  await expect(failing().receiver.replay(what as never)).rejects.toThrow(message)
})

test.each<[string, Partial<WebhookOptions>, number]>([
  ['as the failures are kept, 30 days by default', {}, 30],
  ['of the failures', { failures: memoryFailures({ retentionSeconds: 40 * 86_400 }) }, 40],
  ['of its own, if it has one', { retentionSeconds: 8 * 86_400 }, 8],
])('what was handled is remembered for as long %s', async (_, options, days) => {
  const { store, namespace } = storeWith({})
  const complete = vi.fn(store.complete)
  const { handler, send } = failing({ store: { ...store, complete }, namespace, ...options })
  handler.mockImplementation(() => {})
  await send(ORDER)
  expect(complete).toHaveBeenCalledWith(expect.anything(), days * 86_400_000)
})

test('failures that hang: it rejects', async () => {
  const { receiver } = failing({ failures: { ...memoryFailures(), get: never as never } })
  const rejected = expect(receiver.replay(KEY)).rejects.toMatchObject({ code: 'store_unavailable' })
  await advance(10)
  await rejected
}, 3000)

test('a drain ends a replay of many', async () => {
  const { handler, receiver, send } = failing()
  for (let i = 0; i < 25; i++) await send(orderCreated({ id: `ord_${i}` }))
  handler.mockImplementation(() => void receiver.drain())
  expect(await receiver.replay({})).toHaveLength(20)
})

test('a failure that is replayed in vain is still of its account', async () => {
  const { failures, receiver, send, records } = failing({
    secret: undefined,
    account: (() => ({ id: 'acme', secret: SECRET })) as never,
  } as never)
  await send(ORDER, { request: 'acme' })
  await receiver.replay({}, { request: 'acme' })
  expect(await failures.list()).toMatchObject([
    { key: 'orders/acme/order.created/ord_1', account: 'acme', replays: 1 },
  ])
  expect(records.at(-1)).toMatchObject({ account: 'acme', replayed: true })
})

describe('failures of another backend', () => {
  const wrong: readonly [string, (failure: Failure) => unknown][] = [
    ['a date as text', (failure) => ({ ...failure, signedAt: failure.signedAt.toISOString() })],
    ['an account that is null', (failure) => ({ ...failure, account: null })],
    [
      'another than was asked for',
      (failure) => ({ ...failure, key: `${failure.key}0`, namespace: 'listing' }),
    ],
    ['null', () => null],
  ]

  test.each(wrong)('that returns %s: nothing runs, and what is kept stays as it is', async (_, broken) => {
    const failures = memoryFailures()
    const get = async (key: string) => broken((await failures.get(key)) as Failure) as Failure
    const list = async () => (await failures.list()).map((failure) => broken(failure) as Failure)
    const { handler, receiver, send } = failing({ failures: { ...failures, get, list } })
    await send(ORDER)
    const kept = await failures.list()
    for (const what of [KEY, {}]) {
      await expect(receiver.replay(what)).rejects.toMatchObject({ code: 'store_misbehaved' })
    }
    expect(await failures.list()).toEqual(kept)
    expect(handler).toHaveBeenCalledOnce()
    await receiver.drain()
  })

  test('whose list ignores a condition: nothing runs', async () => {
    const failures = memoryFailures()
    const { handler, receiver, send } = failing({ failures: { ...failures, list: () => failures.list() } })
    await send(ORDER)
    await expect(receiver.replay({ group: 'a3c4f9e81b5d2760' })).rejects.toThrow(/with another group/)
    expect(handler).toHaveBeenCalledOnce()
  })

  test('whose list ignores the limit and the position: no more are replayed, and each once', async () => {
    const failures = memoryFailures()
    const { receiver, send } = failing({ failures: { ...failures, list: () => failures.list() } })
    for (const id of ['ord_1', 'ord_2']) await send(orderCreated({ id }))
    expect(await receiver.replay({ limit: 1 })).toHaveLength(1)
    expect(await receiver.replay({})).toMatchObject([{ outcome: 'failed' }, { outcome: 'failed' }])
  })

  test('whose list breaks off: what has run is returned', async () => {
    const failures = memoryFailures()
    const list = vi.fn(failures.list)
    const { handler, receiver, send } = failing({ failures: { ...failures, list } })
    for (let i = 0; i < 25; i++) await send(orderCreated({ id: `ord_${i}` }))
    handler.mockImplementation(() => {})
    expect(await receiver.replay({ limit: 2 })).toHaveLength(2)
    expect(list.mock.calls.map(([query]) => query?.limit)).toEqual([2])
    list.mockImplementationOnce(failures.list).mockRejectedValueOnce(new Error('gone'))
    expect(await receiver.replay({})).toHaveLength(20)
    expect(await receiver.replay({})).toHaveLength(3)
  })

  test.each([{}, 'handled', 'in_flight'])('whose keep returns %j is reported', async (kept) => {
    const { send, reports } = failing({ failures: { ...memoryFailures(), keep: (() => kept) as never } })
    expect(await send(ORDER)).toMatchObject({ outcome: 'failed' })
    expect(reports.map(({ error }) => error.code)).toContain('not_kept')
  })
})
