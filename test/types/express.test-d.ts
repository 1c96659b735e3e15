import express, { type Request, type RequestHandler, type Response } from 'express'
import { type Operations, type OrderCreatedEvent, unchecked } from 'tix-webhooks'
import { type ExpressWebhooks, tixWebhooks } from 'tix-webhooks/express'
import { describe, expectTypeOf, test } from 'vitest'

describe('tixWebhooks of Express', () => {
  test('is what app.post and router.post take, in the headline of the README', () => {
    const app = express()
    app.post(
      '/hooks',
      tixWebhooks({
        secret: process.env.TIX_SIGNING_SECRET,
        on: {
          'order.created': async (event, ctx) => {
            expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>()
            expectTypeOf(event.data.order.id).toEqualTypeOf<string>()
            expectTypeOf(ctx.request).toEqualTypeOf<Request>()
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
    express.Router().post('/hooks', tixWebhooks({ secret: 's', on: {} }))
    app.post('/a/:tenant/hooks', express.raw({ type: '*/*' }), tixWebhooks({ secret: 's', on: {} }))
    app.use('/hooks', tixWebhooks({ secret: 's', on: {} }))
  })

  // Express 4's types are checked by test/repo/package.test.ts.
  test('is a request handler', () => {
    const hooks = tixWebhooks({ secret: 's', on: {} })
    expectTypeOf(hooks).toEqualTypeOf<ExpressWebhooks>()
    expectTypeOf(hooks).toExtend<RequestHandler>()
  })

  test('can be drained, asked for its health, and told to replay', () => {
    const { drain, replay } = tixWebhooks({ secret: 's', on: {} })
    expectTypeOf(drain).toEqualTypeOf<Operations['drain']>()
    expectTypeOf(replay).toEqualTypeOf<Operations<Request>['replay']>()
  })

  test('gives its functions a Request of Express, and nothing that is `any`', () => {
    tixWebhooks({
      secret: (request) => {
        expectTypeOf(request).toEqualTypeOf<Request>()
        return request.header('x-tenant')
      },
      namespace: 'orders',
      key: (event, { request }) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(request).toEqualTypeOf<Request>()
        return null
      },
      schemas: { 'order.refunded': unchecked<{ cents: number }>() },
      on: {
        'order.refunded': (event, ctx) => {
          expectTypeOf(event).not.toBeAny()
          expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
          expectTypeOf(ctx).not.toBeAny()
          expectTypeOf(ctx.request).toEqualTypeOf<Request>()
        },
      },
      onUnhandled: (event, ctx) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(event.data).not.toBeAny()
        expectTypeOf(ctx.request).toEqualTypeOf<Request>()
      },
      onError: (_error, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<Request>(),
    })
    expectTypeOf<Parameters<ExpressWebhooks>>().toEqualTypeOf<[request: Request, response: Response]>()
  })

  test('refuses a typo in `on`, with and without schemas', () => {
    // @ts-expect-error a typo
    tixWebhooks({ secret: 's', on: { 'order.creatd': () => {} } })
    tixWebhooks({
      secret: 's',
      schemas: { 'order.refunded': unchecked<1>() },
      // @ts-expect-error a typo
      on: { 'order.refundd': () => {} },
    })
  })
})
