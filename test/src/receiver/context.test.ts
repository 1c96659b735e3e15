import type { HandlerContext } from 'tix-webhooks'
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
