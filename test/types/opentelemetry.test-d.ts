import type { Request as ExpressRequest } from 'express'
import type { Context } from 'hono'
import { type Account, type Inbox, type OrderCreatedEvent, unchecked } from 'tix-webhooks'
import { tixWebhooks as onExpress } from 'tix-webhooks/express'
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
    // @ts-expect-error no provider
    instrument({ secret: 's', on: {} }, { tracerProvider: {} })
  })
})
