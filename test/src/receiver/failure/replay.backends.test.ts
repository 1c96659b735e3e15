import { type Failure, memoryFailures } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET } from '../../../support/deliveries.js'
import { failing, KEY, ORDER } from '../../../support/failing-receiver.js'
import { never } from '../../../support/promises.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

test('failures that hang: it rejects', async () => {
  const { receiver } = failing({ failures: { ...memoryFailures(), get: never as never } })
  const rejected = expect(receiver.replay(KEY)).rejects.toMatchObject({ code: 'store_unavailable' })
  await advance(10)
  await rejected
}, 3000)

test('a failure whose key is of another account is not found', async () => {
  const failures = memoryFailures()
  const { handler, receiver, send } = failing({
    failures,
    secret: undefined,
    account: (() => ({ id: 'acme', secret: SECRET })) as never,
  } as never)
  await send(ORDER, { request: 'acme' })
  const [failure] = await failures.list()
  await failures.keep({
    ...(failure as Failure),
    key: 'orders/globex/order.created/ord_1',
    failedAt: new Date(),
    isReplay: false,
  })
  expect(await receiver.replay('orders/globex/order.created/ord_1', { request: 'acme' })).toBeUndefined()
  expect(handler).toHaveBeenCalledOnce()
})

test('a list that ignores the limit: no more are replayed', async () => {
  const failures = memoryFailures()
  const { handler, receiver, send } = failing({ failures: { ...failures, list: () => failures.list() } })
  for (const id of ['ord_1', 'ord_2']) await send(orderCreated({ id }))
  expect(await receiver.replay({ limit: 1 })).toHaveLength(1)
  expect(handler).toHaveBeenCalledTimes(3)
})

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
    [
      'bytes as text',
      (failure) => ({ ...failure, rawBody: Buffer.from(failure.rawBody).toString('base64') }),
    ],
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

  test('whose list ignores the position: each is replayed once', async () => {
    const failures = memoryFailures()
    const { handler, receiver, send } = failing({ failures: { ...failures, list: () => failures.list() } })
    await send(ORDER)
    expect(await receiver.replay({})).toMatchObject([{ outcome: 'failed' }])
    expect(handler).toHaveBeenCalledTimes(2)
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
