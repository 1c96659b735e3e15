import type { DeliveryContext, DeliveryRecord } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { requestOf } from '../../support/fetching.js'
import { receiving } from '../../support/receiving.js'

const LIVE = 'whsec_live'

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
