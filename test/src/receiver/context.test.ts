import type { HandlerContext } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'

/** The context of a handler. */
async function contextOfHandler(): Promise<HandlerContext<unknown, undefined>> {
  const contexts: HandlerContext<unknown, undefined>[] = []
  const { send } = receiving({ on: { 'order.created': (_, ctx) => void contexts.push(ctx) } })
  await send(orderCreated())
  return contexts[0] as HandlerContext<unknown, undefined>
}

test('a context has the bytes that were received, and no copy of them', async () => {
  const contexts: HandlerContext[] = []
  const { receiver } = receiving({ on: { 'order.created': (_, ctx) => void contexts.push(ctx) } })
  const delivery = await sign(orderCreated())
  await receiver.receive({ ...delivery, request: null })
  expect(contexts[0]?.rawBody).toBe(delivery.body)
})

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
