import type { IncomingMessage } from 'node:http'
import type { Request as ExpressRequest } from 'express'
import type { FastifyRequest } from 'fastify'
import type { Context, Env } from 'hono'
import type { PoolClient } from 'pg'
import {
  type AnyEvent,
  createReceiver,
  type EventLifecycleEvent,
  type Inbox,
  type OrderCreatedEvent,
  unchecked,
  type WebhookOptions,
} from 'tix-webhooks'
import * as express from 'tix-webhooks/express'
import * as fastify from 'tix-webhooks/fastify'
import * as fetching from 'tix-webhooks/fetch'
import * as hono from 'tix-webhooks/hono'
import * as node from 'tix-webhooks/node'
import { instrument } from 'tix-webhooks/opentelemetry'
import { describe, expectTypeOf, test } from 'vitest'

interface Refund {
  readonly cents: number
}

const schemas = { 'order.refunded': unchecked<Refund>(), 'event.moved': unchecked<{ to: string }>() }

interface AppEnv {
  Bindings: { readonly SECRET: string }
}

declare const inbox: Inbox<PoolClient>

describe('the options of an adapter, instrumented in place', () => {
  test('keep the event of each kind, of a group and of the rest', () => {
    express.tixWebhooks(
      instrument({
        secret: 's',
        on: {
          'order.created': async (event) => expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>(),
          'event.*': (event) => expectTypeOf(event).toEqualTypeOf<EventLifecycleEvent>(),
        },
        onUnhandled: (event) => expectTypeOf(event).toEqualTypeOf<AnyEvent>(),
      }),
    )
  })

  test('keep the data that a schema types, and the kinds that it adds to a group', () => {
    fastify.tixWebhooks(
      instrument({
        secret: 's',
        schemas,
        on: {
          'order.refunded': (event, ctx) => {
            expectTypeOf(event.data).toEqualTypeOf<Refund>()
            expectTypeOf(ctx.request).toEqualTypeOf<FastifyRequest>()
          },
          'event.*': (event) => {
            if (event.type === 'event.moved') expectTypeOf(event.data).toEqualTypeOf<{ to: string }>()
          },
        },
      }),
    )
  })

  test('keep the transaction of the inbox', () => {
    express.tixWebhooks(
      instrument({
        secret: 's',
        inbox,
        namespace: 'orders',
        on: { 'order.created': (_event, { tx }) => expectTypeOf(tx).toEqualTypeOf<PoolClient>() },
      }),
    )
    createReceiver(
      instrument({
        secret: 's',
        on: { 'order.created': (_event, { tx }) => expectTypeOf(tx).toEqualTypeOf<undefined>() },
      }),
    )
  })

  test('keep the request of the framework', () => {
    const on = {}
    express.tixWebhooks(
      instrument({
        secret: (request) => {
          expectTypeOf(request).toEqualTypeOf<ExpressRequest>()
          return 's'
        },
        on: { 'order.created': (_, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<ExpressRequest>() },
        onError: (_, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<ExpressRequest>(),
      }),
    )
    fetching.tixWebhooks(
      instrument({
        secret: 's',
        on: { 'order.created': (_, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<Request>() },
      }),
    )
    node.tixWebhooks(
      instrument({
        secret: 's',
        on: { 'order.created': (_, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<IncomingMessage>() },
      }),
    )
    hono.tixWebhooks(
      instrument({
        secret: 's',
        on: { 'order.created': (_, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<Context<Env>>() },
      }),
    )
    const ofBindings = hono.tixWebhooks(
      instrument({
        secret: (c: Context<AppEnv>) => c.env.SECRET,
        schemas,
        on: {
          'order.refunded': (event, ctx) => {
            expectTypeOf(event.data).toEqualTypeOf<Refund>()
            expectTypeOf(ctx.request).toEqualTypeOf<Context<AppEnv>>()
          },
        },
      }),
    )
    expectTypeOf(ofBindings).toEqualTypeOf<hono.HonoWebhooks<AppEnv>>()
    expectTypeOf(
      fastify.tixWebhooks(instrument({ secret: 's', on })),
    ).toEqualTypeOf<fastify.FastifyWebhooks>()
  })

  test('refuse what they refuse without it', () => {
    express.tixWebhooks(
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
})

test('options that are declared before are instrumented as they are', () => {
  const options: WebhookOptions<ExpressRequest, PoolClient, typeof schemas> = { secret: 's', on: {} }
  expectTypeOf(instrument(options)).toEqualTypeOf<typeof options>()
})
