import type { Request as ExpressRequest } from 'express'
import type { FastifyRequest } from 'fastify'
import type { Context, Env } from 'hono'
import {
  type Account,
  type Inbox,
  type OrderCreatedEvent,
  unchecked,
  type WebhookOptions,
} from 'tix-webhooks'
import { tixWebhooks as onExpress } from 'tix-webhooks/express'
import { tixWebhooks as onFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as onFetch } from 'tix-webhooks/fetch'
import { type HonoWebhooks, tixWebhooks as onHono } from 'tix-webhooks/hono'
import { instrument } from 'tix-webhooks/opentelemetry'
import { describe, expectTypeOf, test } from 'vitest'

interface Tx {
  query(text: string): void
}
interface Shop extends Account {
  readonly mail: string | null
}
interface AppEnv {
  Bindings: { readonly SECRET: string }
}

const schemas = { 'order.refunded': unchecked<{ cents: number }>() }

declare const inbox: Inbox<Tx>
declare function shopOf(id: string): Promise<Shop | null>

describe('options that are instrumented in place keep', () => {
  test('the event of each kind, the transaction, the account and the parameters of the route', () => {
    onExpress(
      instrument({
        account: (request: ExpressRequest<{ account: string }>) => shopOf(request.params.account),
        inbox,
        namespace: 'orders',
        schemas,
        on: {
          'order.created': (event) => expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>(),
          'order.refunded': (event, ctx) => {
            expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
            expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
            expectTypeOf(ctx.account).toEqualTypeOf<Shop>()
            expectTypeOf(ctx.request).toEqualTypeOf<ExpressRequest<{ account: string }>>()
          },
        },
      }),
    )
    const ofBindings = onHono(
      instrument({
        secret: (c: Context<AppEnv>) => c.env.SECRET,
        schemas,
        on: { 'order.refunded': (event) => expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>() },
      }),
    )
    expectTypeOf(ofBindings).toEqualTypeOf<HonoWebhooks<AppEnv>>()
  })

  test('the plain request of each framework', () => {
    onExpress(
      instrument({
        secret: (request) => request.hostname,
        on: { 'event.*': (_, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<ExpressRequest>() },
      }),
    )
    onFastify(
      instrument({
        secret: (request) => request.hostname,
        on: { 'event.*': (_, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<FastifyRequest>() },
      }),
    )
    onHono(
      instrument({
        secret: 's',
        on: { 'event.*': (_, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<Context<Env>>() },
      }),
    )
    onFetch(
      instrument({
        account: (request) => shopOf(request.url),
        on: { 'event.*': (_, ctx) => expectTypeOf(ctx.account).toEqualTypeOf<Shop>() },
      }),
    )
  })

  test('their errors', () => {
    onExpress(
      instrument({
        secret: 's',
        on: {
          // @ts-expect-error no such field
          'order.created': (event) => event.data.ordr,
        },
      }),
    )
    // @ts-expect-error no such option
    instrument({ secret: 's', on: {}, onDelivry: () => {} })
    // @ts-expect-error no provider
    instrument({ secret: 's', on: {} }, { tracerProvider: {} })
  })

  test('their type, if they are declared before', () => {
    const options: WebhookOptions<ExpressRequest, Tx, typeof schemas> = { secret: 's', on: {} }
    expectTypeOf(instrument(options)).toEqualTypeOf<typeof options>()
  })
})
