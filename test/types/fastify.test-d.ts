import { createServer } from 'node:http'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyRequest,
  type FastifyTypeProvider,
} from 'fastify'
import fastify4 from 'fastify4'
import { type Operations, type OrderCreatedEvent, unchecked } from 'tix-webhooks'
import { type FastifyWebhooks, tixWebhooks } from 'tix-webhooks/fastify'
import { describe, expectTypeOf, test } from 'vitest'

/** A user's own logger, as pino's is: more than Fastify requires. */
interface AppLogger extends FastifyBaseLogger {
  audit(line: string): void
}

declare const logger: AppLogger

interface AppTypeProvider extends FastifyTypeProvider {
  readonly validator: this['schema']
  readonly serializer: this['schema']
}

const tls = { key: '', cert: '' }

describe('tixWebhooks of Fastify', () => {
  test('is what app.post takes, in the headline of the README', () => {
    const app = fastify()
    app.post(
      '/hooks',
      tixWebhooks({
        secret: process.env.TIX_SIGNING_SECRET,
        on: {
          'order.created': async (event, ctx) => {
            expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>()
            expectTypeOf(ctx.request).toEqualTypeOf<FastifyRequest>()
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
    app.route({ method: 'POST', url: '/hooks', ...tixWebhooks({ secret: 's', on: {} }) })
  })

  test('fits an app with a logger of its own', () => {
    fastify({ logger: true }).post('/hooks', tixWebhooks({ secret: 's', on: {} }))
    const app = fastify({ loggerInstance: logger })
    expectTypeOf(app.log).toEqualTypeOf<AppLogger>()
    app.post('/hooks', tixWebhooks({ secret: 's', on: {} }))
  })

  test('fits an app on HTTP/2 or HTTPS, or on a server that was made before', () => {
    fastify({ http2: true }).post('/hooks', tixWebhooks({ secret: 's', on: {} }))
    fastify({ http2: true, https: tls }).post('/hooks', tixWebhooks({ secret: 's', on: {} }))
    fastify({ https: tls }).post('/hooks', tixWebhooks({ secret: 's', on: {} }))
    fastify({ serverFactory: (handler) => createServer(handler) }).post(
      '/hooks',
      tixWebhooks({ secret: 's', on: {} }),
    )
  })

  test('fits an app with a type provider', () => {
    fastify()
      .withTypeProvider<AppTypeProvider>()
      .post('/hooks', tixWebhooks({ secret: process.env.TIX_SIGNING_SECRET, on: {} }))
    fastify({ http2: true, loggerInstance: logger })
      .withTypeProvider<AppTypeProvider>()
      .post('/hooks', tixWebhooks({ secret: 's', on: {} }))
  })

  test('fits a plugin', () => {
    const plugin: FastifyPluginAsync = async (instance: FastifyInstance) => {
      instance.post('/hooks', tixWebhooks({ secret: 's', on: {} }))
    }
    expectTypeOf(plugin).toExtend<FastifyPluginAsync>()
  })

  test('fits Fastify 4', () => {
    fastify4().post('/hooks', tixWebhooks({ secret: process.env.TIX_SIGNING_SECRET, on: {} }))
    fastify4({ logger: true }).post('/hooks', tixWebhooks({ secret: 's', on: {} }))
    fastify4({ http2: true }).post('/hooks', tixWebhooks({ secret: 's', on: {} }))
    fastify4({ https: tls }).post('/hooks', tixWebhooks({ secret: 's', on: {} }))
    fastify4().route({ method: 'POST', url: '/hooks', ...tixWebhooks({ secret: 's', on: {} }) })
  })

  test('can be drained, asked for its health, and told to replay', () => {
    expectTypeOf(tixWebhooks({ secret: 's', on: {} })).toEqualTypeOf<FastifyWebhooks>()
    expectTypeOf<FastifyWebhooks['drain']>().toEqualTypeOf<Operations['drain']>()
    expectTypeOf<FastifyWebhooks['replay']>().toEqualTypeOf<Operations<FastifyRequest>['replay']>()
  })

  test('gives its functions a request of Fastify, and nothing that is `any`', () => {
    tixWebhooks({
      secret: (request) => {
        expectTypeOf(request).toEqualTypeOf<FastifyRequest>()
        return request.hostname
      },
      namespace: 'orders',
      key: (event, { request }) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(request).toEqualTypeOf<FastifyRequest>()
        return null
      },
      schemas: { 'order.refunded': unchecked<{ cents: number }>() },
      on: {
        'order.refunded': (event, ctx) => {
          expectTypeOf(event).not.toBeAny()
          expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
          expectTypeOf(ctx).not.toBeAny()
          expectTypeOf(ctx.request).toEqualTypeOf<FastifyRequest>()
        },
      },
      onUnhandled: (event, ctx) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(event.data).not.toBeAny()
        expectTypeOf(ctx.request).toEqualTypeOf<FastifyRequest>()
      },
      onError: (_error, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<FastifyRequest>(),
    })
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
