import type { DeliveryContext, DeliveryRecord, UnknownEvent } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { requestOf } from '../../support/fetching.js'
import { receiving } from '../../support/receiving.js'

const LIVE = 'whsec_live'
const TEST = 'whsec_test'

test('a test order does not make the live order of the same id a duplicate if the key has the index of the secret', async () => {
  const runs: (string | null)[] = []
  const { receiver } = receiving({
    secret: [LIVE, TEST],
    key: ({ data }: UnknownEvent, { secretIndex }) => `${secretIndex}-${(data.order as { id: string }).id}`,
    on: { 'order.created': (_, { key }) => runs.push(key) },
  })
  const order = orderCreated({ id: 'ord_1' })
  const send = async (secret: string) =>
    receiver.receive({ ...(await sign(order, { secret })), request: null })
  expect(await send(TEST)).toEqual({ outcome: 'handled' })
  expect(await send(LIVE)).toEqual({ outcome: 'handled' })
  expect(await send(LIVE)).toEqual({ outcome: 'duplicate' })
  expect(runs).toEqual(['default/order.created/1-ord_1', 'default/order.created/0-ord_1'])
})

test('onDelivery gets the request, also of a delivery that is refused', async () => {
  const seen: [DeliveryRecord['outcome'], unknown][] = []
  const onDelivery = ({ outcome }: DeliveryRecord, { request }: DeliveryContext) =>
    seen.push([outcome, request])
  const { receiver, send } = receiving({ onDelivery, on: { 'order.created': () => {} } })
  const [first, second] = [{ id: 'req_1' }, { id: 'req_2' }]
  await send(orderCreated(), { request: first })
  await receiver.receive({ header: undefined, body: new Uint8Array(), request: second })
  expect(seen).toEqual([
    ['handled', first],
    ['malformed', second],
  ])
})

test('a handler of fetch gets what the platform passed beside the request', async () => {
  const seen = vi.fn()
  const hooks = tixWebhooks({
    secret: LIVE,
    on: { 'order.created': (_, { platform, request }) => seen(platform, request) },
  })
  const request = requestOf(await sign(orderCreated(), { secret: LIVE }))
  const platform = { env: { DB: 'bindings' } }
  expect((await hooks(request, platform)).status).toBe(200)
  expect(seen).toHaveBeenCalledWith(platform, request)
})
