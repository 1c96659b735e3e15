import { type Failure, memoryFailures } from 'tix-webhooks'
import { expect, test } from 'vitest'
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
