import { createServer, type IncomingMessage } from 'node:http'
import { type BodyReader, type Operations, type OrderCreatedEvent, unchecked } from 'tix-webhooks'
import { type FetchWebhooks, requestBody, tixWebhooks as tixWebhooksForFetch } from 'tix-webhooks/fetch'
import { type NodeWebhooks, streamBody, tixWebhooks as tixWebhooksForNode } from 'tix-webhooks/node'
import { describe, expectTypeOf, test } from 'vitest'

/** A Worker's context, as in its types: more than we need, and a promise of anything. */
interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void
  passThroughOnException(): void
}

declare const hooks: FetchWebhooks

describe('tixWebhooks of fetch', () => {
  test('takes a Request and gives a Response', () => {
    const POST = tixWebhooksForFetch({
      secret: process.env.TIX_SIGNING_SECRET,
      namespace: 'orders',
      on: {
        'order.created': async (event, ctx) => {
          expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>()
          expectTypeOf(ctx.request).toEqualTypeOf<Request>()
        },
      },
      onUnhandled: (event, ctx) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(ctx.request).toEqualTypeOf<Request>()
      },
    })
    expectTypeOf(POST).toEqualTypeOf<FetchWebhooks>()
    expectTypeOf(POST).toExtend<(request: Request) => Promise<Response>>()
    expectTypeOf(POST.drain).toEqualTypeOf<Operations['drain']>()
    expectTypeOf(POST.replay).toEqualTypeOf<Operations<Request>['replay']>()
  })

  test('fits where a platform passes something of its own second', () => {
    // The types of a Next route, a Deno.serve handler, Bun.serve's fetch, and a Worker's module.
    const next: (request: Request, context: { params: Promise<{ id: string }> }) => unknown = hooks
    const deno: (request: Request, info: { remoteAddr: { hostname: string } }) => Promise<Response> = hooks
    const bun: (request: Request, server: { requestIP(request: Request): unknown }) => Promise<Response> =
      hooks
    const worker: {
      fetch(request: Request, env: { SECRET: string }, ctx: ExecutionContext): Promise<Response>
    } = { fetch: hooks }
    for (const fits of [next, deno, bun, worker.fetch]) expectTypeOf(fits).toBeFunction()
  })

  test('is what a Worker’s fetch calls, with its context', () => {
    const hooks = tixWebhooksForFetch({ secret: 's', on: {} })
    const worker = {
      fetch: (request: Request, _env: unknown, ctx: ExecutionContext): Promise<Response> =>
        hooks(request, ctx),
    }
    expectTypeOf(worker.fetch).returns.resolves.toEqualTypeOf<Response>()
  })
})

describe('tixWebhooks of node', () => {
  test('is a listener of node:http', () => {
    const hooks = tixWebhooksForNode({
      secret: (request) => {
        expectTypeOf(request).toEqualTypeOf<IncomingMessage>()
        return process.env.TIX_SIGNING_SECRET
      },
      namespace: 'orders',
      schemas: { 'order.refunded': unchecked<{ cents: number }>() },
      on: {
        'order.refunded': (event, ctx) => {
          expectTypeOf(event).not.toBeAny()
          expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
          expectTypeOf(ctx).not.toBeAny()
          expectTypeOf(ctx.request).toEqualTypeOf<IncomingMessage>()
        },
      },
    })
    createServer(hooks)
    expectTypeOf(hooks).toEqualTypeOf<NodeWebhooks>()
    expectTypeOf(hooks.drain).toEqualTypeOf<Operations['drain']>()
    expectTypeOf(hooks.replay).toEqualTypeOf<Operations<IncomingMessage>['replay']>()
  })

  test('lends its reader to other adapters, as fetch does', () => {
    expectTypeOf(streamBody).returns.toEqualTypeOf<BodyReader>()
    expectTypeOf(requestBody).returns.toEqualTypeOf<BodyReader>()
  })
})

describe('a typo in `on`', () => {
  test('is an error, with and without schemas', () => {
    const schemas = { 'order.refunded': unchecked<1>() }
    // @ts-expect-error a typo
    tixWebhooksForFetch({ secret: 's', on: { 'order.creatd': () => {} } })
    // @ts-expect-error a typo
    tixWebhooksForFetch({ secret: 's', schemas, on: { 'order.refundd': () => {} } })
    // @ts-expect-error a typo
    tixWebhooksForNode({ secret: 's', on: { 'order.creatd': () => {} } })
    // @ts-expect-error a typo
    tixWebhooksForNode({ secret: 's', schemas, on: { 'order.refundd': () => {} } })
  })
})
