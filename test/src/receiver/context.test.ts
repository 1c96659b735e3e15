import type { DeliveryContext, DeliveryRecord, HandlerContext } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { requestOf } from '../../support/fetching.js'
import { receiving } from '../../support/receiving.js'

/** The context of a handler. */
async function contextOfHandler(): Promise<HandlerContext<unknown, undefined>> {
  const contexts: HandlerContext<unknown, undefined>[] = []
  const { send } = receiving({ on: { 'order.created': (_, ctx) => void contexts.push(ctx) } })
  await send(orderCreated())
  return contexts[0] as HandlerContext<unknown, undefined>
}

describe('the signal of a context', () => {
  test('is the same one each time, and wherever the context is wrapped or inherited from', async () => {
    const ctx = await contextOfHandler()
    const { signal } = ctx
    expect(signal).toBeInstanceOf(AbortSignal)
    expect(ctx.signal).toBe(signal)
    expect(Object.create(ctx).signal).toBe(signal)
    expect(new Proxy(ctx, {}).signal).toBe(signal)
  })

  test('can be replaced, as a test does', async () => {
    const ctx = await contextOfHandler()
    const other = AbortSignal.abort()
    Object.defineProperty(ctx, 'signal', { value: other })
    expect(ctx.signal).toBe(other)
  })

  test('is no property of the context itself, as the others are, and there are no more', async () => {
    const ctx = await contextOfHandler()
    expect(Object.keys(ctx).sort()).toEqual(
      [
        'account',
        'attempt',
        'deduplicated',
        'key',
        'platform',
        'rawBody',
        'replayed',
        'request',
        'secretIndex',
        'signedAt',
        'tx',
      ].sort(),
    )
    expect('signal' in ctx).toBe(true)
  })
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
    secret: SECRET,
    on: { 'order.created': (_, { platform, request }) => seen(platform, request) },
  })
  const request = requestOf(await sign(orderCreated()))
  const platform = { env: { DB: 'bindings' } }
  expect((await hooks(request, platform)).status).toBe(200)
  expect(seen).toHaveBeenCalledWith(platform, request)
})
