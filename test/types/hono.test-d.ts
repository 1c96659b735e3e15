import { type Context, type Env, type Handler, Hono } from 'hono'
import { type Operations, type OrderCreatedEvent, unchecked } from 'tix-webhooks'
import { type HonoWebhooks, tixWebhooks } from 'tix-webhooks/hono'
import { describe, expectTypeOf, test } from 'vitest'

interface AppEnv {
  Bindings: { readonly TIX_SIGNING_SECRET: string }
  Variables: { readonly tenant: string }
}

describe('tixWebhooks of Hono', () => {
  test('is what app.post takes, in the headline of the README', () => {
    new Hono().post(
      '/hooks',
      tixWebhooks({
        secret: process.env.TIX_SIGNING_SECRET,
        on: {
          'order.created': async (event, ctx) => {
            expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>()
            expectTypeOf(ctx.request).not.toBeAny()
            expectTypeOf(ctx.request.req.raw).toEqualTypeOf<Request>()
          },
          'event.*': async (event, ctx) => {
            expectTypeOf(event.type).toEqualTypeOf<
              'event.published' | 'event.cancelled' | 'event.rescheduled'
            >()
            expectTypeOf(ctx.attempt).toEqualTypeOf<number | undefined>()
          },
        },
      }),
    )
  })

  test('is a handler of Hono', () => {
    const hooks = tixWebhooks({ secret: 's', on: {} })
    expectTypeOf(hooks).toEqualTypeOf<HonoWebhooks<Env>>()
    expectTypeOf(hooks).toExtend<Handler>()
    expectTypeOf(hooks.drain).toEqualTypeOf<Operations['drain']>()
    expectTypeOf(hooks.replay).toEqualTypeOf<Operations<Context<Env>>['replay']>()
  })

  test('fits an app with bindings that it does not look at', () => {
    const hooks = tixWebhooks({ secret: 's', on: {} })
    new Hono<AppEnv>().post('/hooks', hooks)
    new Hono<AppEnv>().post('/hooks', tixWebhooks({ secret: process.env.TIX_SIGNING_SECRET, on: {} }))
    new Hono<AppEnv>().basePath('/a/:tenant').post('/hooks', tixWebhooks({ secret: 's', on: {} }))
  })

  test('takes the secret from the bindings, beside schemas', () => {
    const hooks = tixWebhooks({
      secret: (c: Context<AppEnv>) => c.env.TIX_SIGNING_SECRET,
      schemas: { 'order.refunded': unchecked<{ cents: number }>() },
      on: {
        'order.refunded': (event, ctx) => {
          expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
          expectTypeOf(ctx.request).toEqualTypeOf<Context<AppEnv>>()
          expectTypeOf(ctx.request.get('tenant')).toEqualTypeOf<string>()
        },
        'order.created': (event) => expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>(),
      },
    })
    expectTypeOf(hooks).toEqualTypeOf<HonoWebhooks<AppEnv>>()
    new Hono<AppEnv>().post('/hooks', hooks)
  })

  test('takes the environment as a type argument too', () => {
    const hooks = tixWebhooks<AppEnv>({
      secret: (c) => c.env.TIX_SIGNING_SECRET,
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<Context<AppEnv>>() },
    })
    new Hono<AppEnv>().post('/hooks', hooks)
  })

  test('refuses a secret that the bindings have not', () => {
    // @ts-expect-error no such binding
    tixWebhooks({ secret: (c: Context<AppEnv>) => c.env.SECRET, on: {} })
  })

  test('gives its functions a context of Hono, and nothing that is `any`', () => {
    tixWebhooks<AppEnv>({
      secret: async (c) => {
        expectTypeOf(c).toEqualTypeOf<Context<AppEnv>>()
        return [c.env.TIX_SIGNING_SECRET]
      },
      namespace: 'orders',
      key: (event, { request }) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(request).toEqualTypeOf<Context<AppEnv>>()
        return null
      },
      on: {
        'event.*': (event, ctx) => {
          expectTypeOf(event).not.toBeAny()
          expectTypeOf(event.data).not.toBeAny()
          expectTypeOf(ctx).not.toBeAny()
          expectTypeOf(ctx.request).toEqualTypeOf<Context<AppEnv>>()
        },
      },
      onUnhandled: (event, ctx) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(event.data).not.toBeAny()
        expectTypeOf(ctx.request).toEqualTypeOf<Context<AppEnv>>()
      },
      onError: (_error, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<Context<AppEnv>>(),
    })
  })

  test('refuses a typo in `on`, with and without schemas', () => {
    // @ts-expect-error a typo
    tixWebhooks({ secret: 's', on: { 'order.creatd': () => {} } })
    tixWebhooks({
      secret: (c: Context<AppEnv>) => c.env.TIX_SIGNING_SECRET,
      schemas: { 'order.refunded': unchecked<1>() },
      // @ts-expect-error a typo
      on: { 'order.refundd': () => {} },
    })
  })
})
