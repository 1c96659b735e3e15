import { Discard, RetryLater } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'
import { schemaOf } from '../../support/schema-of.js'

describe('the ends of a delivery', () => {
  test('an order is handled, its repetition is a duplicate', async () => {
    const runs: unknown[] = []
    const { send } = receiving({ on: { 'order.created': (event) => runs.push(event.data.order.id) } })
    const order = orderCreated({ id: 'ord_7' })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(runs).toEqual(['ord_7'])
  })

  test('onUnhandled gets what `on` does not name, once', async () => {
    const kinds: string[] = []
    const { send } = receiving({
      on: { 'order.created': () => {} },
      onUnhandled: (event) => kinds.push(event.type),
    })
    await send(orderCreated())
    await send(lifecycleEvent('event.published'))
    await send(lifecycleEvent('event.archived'))
    await send(lifecycleEvent('event.archived'))
    expect(kinds).toEqual(['event.published', 'event.archived'])
  })

  test('RetryLater asks the sender to retry, and the event is released', async () => {
    const { send, records, reports } = receiving({
      on: {
        'order.created': (_, ctx) => {
          if (ctx.attempt === 1) throw new RetryLater({ afterSeconds: 90, reason: 'closed for the night' })
        },
      },
    })
    const order = orderCreated()
    expect(await send(order)).toMatchObject({
      outcome: 'retry_later',
      code: 'retry_later',
      retryAfterSeconds: 90,
    })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(records[0]?.error).toMatchObject({ message: 'closed for the night' })
    expect(reports).toEqual([])
  })

  test('Discard is final: the event is acknowledged and never runs again', async () => {
    let runs = 0
    const { send, reports } = receiving({
      on: {
        'order.created': () => {
          runs += 1
          throw new Discard('not ours')
        },
      },
    })
    const order = orderCreated()
    expect(await send(order)).toMatchObject({ outcome: 'discarded' })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(runs).toBe(1)
    expect(reports).toEqual([])
  })

  test.each([
    ['Discard', new Discard('from the wrong place')],
    ['RetryLater', new RetryLater({ afterSeconds: 90 })],
  ])('a %s that a schema throws is a fault of the schema, not a wish', async (_, wish) => {
    const schema = schemaOf(() => {
      throw wish
    })
    const { send } = receiving({
      schemas: { 'order.created': schema },
      on: { 'order.created': () => {} },
    } as object)
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
  })

  test('without a key the event runs at each delivery, unprotected', async () => {
    const contexts: unknown[] = []
    const { send } = receiving({
      key: () => null,
      on: {
        'order.created': (_, { key, attempt, deduplicated }) => contexts.push({ key, attempt, deduplicated }),
      },
    })
    const order = orderCreated()
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(contexts).toEqual(Array(2).fill({ key: null, attempt: undefined, deduplicated: false }))
  })
})

test('the handler gets everything known about the delivery', async () => {
  const now = 1_747_490_531_500
  const seen: unknown[] = []
  const { receiver } = receiving({
    now: () => now,
    namespace: 'shop',
    secret: ['whsec_new', SECRET],
    on: { 'order.created': (event, ctx) => seen.push({ event, ctx, aborted: ctx.signal.aborted }) },
  })
  const order = orderCreated({ id: 'ord_9' })
  const { header, body } = await sign(order, { timestamp: 1_747_490_500 })
  const request = { url: '/hooks' }
  await receiver.receive({ header, body, request })
  expect(seen).toMatchObject([
    {
      event: order,
      ctx: {
        request,
        key: 'shop/order.created/ord_9',
        attempt: 1,
        deduplicated: true,
        signedAt: new Date(1_747_490_500_000),
        secretIndex: 1,
        rawBody: body,
      },
      aborted: false,
    },
  ])
})
