import type { Pool, PoolClient } from 'pg'
import {
  createReceiver,
  type Discard,
  type HandlerContext,
  type Inbox,
  type OnceRequest,
  type OnceResult,
  type OrderCreatedEvent,
  unchecked,
  type WebhookOptions,
} from 'tix-webhooks'
import { describe, expectTypeOf, test } from 'vitest'

interface Tx {
  insert(table: string, row: object): Promise<void>
}

declare const inbox: Inbox<Tx>
declare const pool: Pool

describe('the transaction of a handler', () => {
  test('is that of the inbox, for each handler', () => {
    createReceiver({
      secret: 's',
      inbox,
      namespace: 'orders',
      on: {
        'order.created': async (event, ctx) => {
          expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
          expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>()
          await ctx.tx.insert('orders', { id: event.data.order.id })
          // @ts-expect-error no such method
          ctx.tx.inser
        },
        'event.*': (_event, ctx) => expectTypeOf(ctx).toEqualTypeOf<HandlerContext<unknown, Tx, undefined>>(),
      },
      onUnhandled: (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<Tx>(),
    })
  })

  test('is that of the inbox beside schemas and a request of some framework', () => {
    createReceiver({
      secret: (_request: URL) => 's',
      inbox,
      namespace: 'orders',
      schemas: { 'order.refunded': unchecked<{ refund_id: string }>() },
      on: {
        'order.refunded': (event, ctx) => {
          expectTypeOf(event.data.refund_id).toBeString()
          expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
          expectTypeOf(ctx.request).toEqualTypeOf<URL>()
        },
      },
    })
  })

  test('is that of the inbox that a function of the request returns, or resolves to', () => {
    const options = { secret: 's', namespace: 'orders' }
    createReceiver({
      ...options,
      inbox: () => inbox,
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<Tx>() },
    })
    createReceiver({
      ...options,
      inbox: async (request: URL) => {
        expectTypeOf(request).toEqualTypeOf<URL>()
        return inbox
      },
      on: {
        'order.created': (_event, ctx) => {
          expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
          expectTypeOf(ctx.request).toEqualTypeOf<URL>()
        },
      },
    })
    // @ts-expect-error a pool is no inbox
    createReceiver({ ...options, inbox: () => pool, on: {} })
  })

  test('is undefined without an inbox', () => {
    createReceiver({
      secret: 's',
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toBeUndefined() },
    })
  })

  test('does not degrade to any', () => {
    createReceiver({
      secret: 's',
      inbox,
      namespace: 'orders',
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).not.toBeAny() },
    })
    createReceiver({
      secret: 's',
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).not.toBeAny() },
    })
  })

  test('is not inferred from a handler: the inbox says what it is', () => {
    const write = (_event: unknown, _ctx: HandlerContext<unknown, PoolClient>): void => {}
    createReceiver({
      secret: 's',
      inbox,
      namespace: 'orders',
      on: {
        // @ts-expect-error a handler for another transaction
        'order.created': write,
      },
    })
    createReceiver({
      secret: 's',
      on: {
        // @ts-expect-error a handler for a transaction, without an inbox that opens one
        'order.created': write,
      },
    })
  })

  test('can be named beside the call', () => {
    const on: WebhookOptions<unknown, Tx>['on'] = {
      'order.created': (_event, ctx) => ctx.tx.insert('orders', {}),
    }
    createReceiver({ secret: 's', inbox, namespace: 'orders', on })
    // @ts-expect-error its inbox is missing
    createReceiver({ secret: 's', on })
  })
})

describe('an inbox', () => {
  test('can be anybody’s', () => {
    class Own implements Inbox<Tx> {
      async once({ key, retainMs }: OnceRequest, work: (tx: Tx) => Promise<void>): Promise<OnceResult> {
        expectTypeOf(key).toEqualTypeOf<string | null>()
        expectTypeOf(retainMs).toBeNumber()
        await work({ insert: async () => {} })
        return { status: 'handled' }
      }
    }
    createReceiver({
      secret: 's',
      inbox: new Own(),
      namespace: 'orders',
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<Tx>() },
    })
  })

  test('resolves to an object with one of four words', () => {
    expectTypeOf<OnceResult['status']>().toEqualTypeOf<'handled' | 'discarded' | 'duplicate' | 'in_flight'>()
    expectTypeOf<Discard>().not.toExtend<OnceResult>()
    const own = { once: async () => ({ status: 'ok' as const }) }
    // @ts-expect-error a word that the contract does not have
    createReceiver({ secret: 's', inbox: own, namespace: 'orders', on: {} })
    const bare = { once: async () => 'handled' as const }
    // @ts-expect-error the bare word
    createReceiver({ secret: 's', inbox: bare, namespace: 'orders', on: {} })
  })

  test('is not a pool, though an event emitter has a once', () => {
    // @ts-expect-error a pool is not an inbox
    createReceiver({ secret: 's', inbox: pool, namespace: 'orders', on: {} })
  })
})
