import fastify, { type FastifyTypeProvider } from 'fastify'
import fastify4 from 'fastify4'
import type { Context } from 'hono'
import {
  type AnyEvent,
  EVENT_KINDS,
  type EventKind,
  type EventOf,
  type Handlers,
  type Inbox,
  isKind,
  memoryStore,
  type OrderCreatedEvent,
  type StandardSchemaV1,
  unchecked,
  type WebhookEvent,
  type WebhookOptions,
} from 'tix-webhooks'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { describe, expectTypeOf, test } from 'vitest'

declare const cond: boolean
declare const inbox: Inbox<{ query(text: string): void }>

interface JsonSchemaProvider extends FastifyTypeProvider {
  readonly validator: this['schema'] extends { type: 'object' } ? { ok: boolean } : unknown
  readonly serializer: this['schema'] extends { type: 'object' } ? { ok: boolean } : unknown
}

interface AppEnv {
  Bindings: { S: string }
  Variables: { tenant: string }
}

describe('Fastify', () => {
  const schema = { response: { 200: { type: 'object' } } } as const
  test('takes the route options beside a response schema, with a type provider', () => {
    const hooks = forFastify({ secret: 's', on: {} })
    fastify().post('/hooks', { ...hooks, schema })
    fastify()
      .withTypeProvider<JsonSchemaProvider>()
      .post('/hooks', { ...hooks, schema })
    fastify({ http2: true })
      .withTypeProvider<JsonSchemaProvider>()
      .post('/hooks', { ...hooks, schema })
    fastify()
      .withTypeProvider<JsonSchemaProvider>()
      .route({ method: 'POST', url: '/', ...hooks, schema })
    fastify4().post('/hooks', { ...hooks, schema })
  })
})

describe('an option that is undefined', () => {
  test('counts as absent', () => {
    forFetch({
      secret: 's',
      store: cond ? memoryStore() : undefined,
      namespace: cond ? 'orders' : undefined,
      inbox: undefined,
      schemas: undefined,
      onUnhandled: undefined,
      on: { 'order.created': cond ? () => {} : undefined },
      now: undefined,
      signature: { header: undefined, algorithm: undefined },
    })
    memoryStore({ maxKeys: undefined, now: undefined })
  })
})

describe('Hono', () => {
  test('infers schemas beside an annotated context', () => {
    forHono({
      secret: (c: Context<AppEnv>) => c.env.S,
      schemas: { 'order.refunded': unchecked<{ cents: number }>() },
      on: { 'order.refunded': (event) => expectTypeOf(event.data.cents).toEqualTypeOf<number>() },
    })
  })
  test('says what to do where the environment is given as a type argument beside schemas', () => {
    forHono<AppEnv>({
      secret: (c) => c.env.S,
      // @ts-expect-error with one explicit type argument, nothing else is inferred
      schemas: { 'order.refunded': unchecked<{ cents: number }>() },
      on: {},
    })
    forHono<AppEnv>({
      secret: (c) => c.env.S,
      // @ts-expect-error with one explicit type argument, nothing else is inferred
      inbox,
      namespace: 'orders',
      on: {},
    })
    forHono<AppEnv>({ secret: (c) => c.env.S, on: { 'order.created': () => {} } })
    forHono({ secret: 's', on: { 'order.created': () => {} } })
  })
})

describe('generic code', () => {
  test('narrows by a kind that is a parameter', () => {
    function pick<K extends EventKind>(e: WebhookEvent, k: K): EventOf<K> | undefined {
      return isKind(e, k) ? e : undefined
    }
    function pickAny<K extends EventKind>(e: AnyEvent, k: K): EventOf<K> | undefined {
      return isKind(e, k) ? e : undefined
    }
    function all<K extends EventKind>(list: readonly AnyEvent[], k: K): EventOf<K>[] {
      return list.filter((e): e is EventOf<K> => isKind(e, k))
    }
    expectTypeOf(pick).toBeFunction()
    expectTypeOf(pickAny).toBeFunction()
    expectTypeOf(all([], 'order.created')).toEqualTypeOf<OrderCreatedEvent[]>()
  })
  test('fills a map of handlers by kind', () => {
    const on: Handlers = {}
    function set<K extends EventKind>(kind: K, h: NonNullable<Handlers[K]>): void {
      on[kind] = h
    }
    set('order.created', (event) => event.data.order.id)
    for (const kind of EVENT_KINDS) on[kind] = (event: { type: string }) => console.info(event.type)
    expectTypeOf(EVENT_KINDS[0]).toExtend<EventKind | undefined>()
  })
  test('takes schemas that are typed by an interface, or spread by a condition', () => {
    interface Schemas {
      'order.refunded': StandardSchemaV1<unknown, { cents: number }>
    }
    const schemas: Schemas = { 'order.refunded': unchecked() }
    forFetch({
      secret: 's',
      schemas,
      on: { 'order.refunded': (event) => expectTypeOf(event.data.cents).toEqualTypeOf<number>() },
    })
    forFetch({
      secret: 's',
      schemas: { ...(cond ? { 'order.refunded': unchecked<{ cents: number }>() } : {}) },
      on: { 'order.refunded': (event) => expectTypeOf(event.data.cents).toEqualTypeOf<number>() },
    })
  })
  test('passes options through a function of ones own', () => {
    const options: WebhookOptions<Request> = { secret: undefined, on: {} }
    forFetch({ ...options, toleranceSeconds: cond ? 5 : undefined })
  })
})
