// A Worker for the tests of the stores at the edge, bundled by ../workerd.ts. It does its work in few requests, which are what costs time.
import pLimit from 'p-limit'
import type { IdempotencyStore, RemoteLedgerStore } from 'tix-webhooks'
import { type D1Database, d1Store } from 'tix-webhooks/d1'
import {
  type DurableObjectNamespace,
  durableObjectStore,
  TixWebhooksObject,
} from 'tix-webhooks/durable-object'
import { type FetchWebhooks, tixWebhooks } from 'tix-webhooks/fetch'
import { ledgerCases, signedDelivery, storeCases } from 'tix-webhooks/testing'
import { handledFacts } from '../handled-facts.js'
import { shiftHosted } from '../shift-deadlines.js'

type Service = { fetch(request: Request): Promise<Response> }

interface Env extends Record<'a' | 'b' | 'c' | 'd', Service> {
  DB: D1Database
  WEBHOOKS: DurableObjectNamespace
  SECRET: string
}

interface State {
  storage: {
    sql: { exec(sql: string, ...parameters: unknown[]): { toArray(): unknown[] } }
    getAlarm(): Promise<number | null>
    setAlarm(atMs: number): Promise<void>
  }
}

const SHARDS = 2

const TABLE = 'tix_webhooks_events'

/** The object of the package, and what a test does to one: lets time pass, reads its records, has its alarm ring. */
export class TestedObject extends TixWebhooksObject {
  readonly state: State

  constructor(state: State) {
    super(state as never)
    this.state = state
  }

  override async fetch(request: Request): Promise<Response> {
    const { storage } = this.state
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/shift') storage.sql.exec(shiftHosted(TABLE, Number(searchParams.get('ms'))))
    else if (pathname === '/ring') await storage.setAlarm(Date.now())
    else if (pathname !== '/count') return super.fetch(request)
    return Response.json({
      count: storage.sql.exec(`SELECT event_key FROM ${TABLE}`).toArray().length,
      alarm: await storage.getAlarm(),
    })
  }
}

interface Backend {
  create(): Promise<RemoteLedgerStore>
  createSecond(): Promise<RemoteLedgerStore>
  advance(ms: number): Promise<void>
}

/** @param lane records of its own, so that what advances the time of one lane leaves the others alone */
function backendOf(env: Env, name: string | null, lane?: string): Backend {
  if (name === 'd1') {
    const table = lane === undefined ? TABLE : `${TABLE}_${lane}`
    const migrated = lane === undefined ? undefined : d1Store(env.DB, { table }).migrate()
    const create = async () => {
      await migrated
      return d1Store(env.DB, { table })
    }
    return {
      create,
      createSecond: create,
      advance: async (ms) => void (await env.DB.prepare(shiftHosted(table, ms)).all()),
    }
  }
  const namespace = lane === undefined ? env.WEBHOOKS : laneOf(env.WEBHOOKS, lane)
  const create = async () => durableObjectStore(namespace, { shards: SHARDS })
  return {
    create,
    createSecond: create,
    advance: async (ms) => void (await toObjects(namespace, `/shift?ms=${ms}`)),
  }
}

function laneOf(namespace: DurableObjectNamespace, lane: string): DurableObjectNamespace {
  return {
    idFromName: (shard) => namespace.idFromName(`${lane}-${shard}`),
    get: (id) => namespace.get(id),
  }
}

function toObjects(namespace: DurableObjectNamespace, path: string): Promise<unknown[]> {
  return Promise.all(
    Array.from({ length: SHARDS }, async (_, shard) => {
      const stub = namespace.get(namespace.idFromName(`shard-${shard}`) as never)
      const answer = await stub.fetch(`https://test${path}`, { method: 'POST', body: '' })
      return JSON.parse(await answer.text())
    }),
  )
}

const LANES = 6

/** Runs the cases in lanes: one by one, they would mostly wait. */
async function failedCases(laneFor: (lane: string) => Backend): Promise<string[]> {
  const failures: string[] = []
  // The longest one first.
  const waiting = [...storeCases, ...ledgerCases].sort((one, other) => rankOf(other.id) - rankOf(one.id))
  async function runLane(backend: Backend): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { id, run } = next
      await run(backend).catch((error) => failures.push(`${id}: ${error.message}`))
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, lane) => runLane(laneFor(`lane_${lane}`))))
  return failures
}

const rankOf = (id: string): number => Number(id === 'histories')

const MINUTE = 60_000

/** A namespace whose stubs are made once, as by a client that is kept: the mistake that Workers forbid. */
function capturing(namespace: DurableObjectNamespace): DurableObjectNamespace {
  const stubs = new Map<unknown, ReturnType<DurableObjectNamespace['get']>>()
  return {
    idFromName: (name) => name,
    get(name) {
      const known = stubs.get(name) ?? namespace.get(namespace.idFromName(name) as never)
      stubs.set(name, known)
      return known
    },
  }
}

const captures: Readonly<Record<string, (env: Env) => FetchWebhooks>> = {
  captured: (env) => capturingHooks(env, durableObjectStore(capturing(env.WEBHOOKS), { shards: 1 })),
  cured: (env) => capturingHooks(env, () => durableObjectStore(capturing(env.WEBHOOKS), { shards: 1 })),
}

const reports: string[] = []

function capturingHooks(env: Env, store: IdempotencyStore | (() => IdempotencyStore)): FetchWebhooks {
  return tixWebhooks({
    secret: env.SECRET,
    store,
    namespace: 'trap',
    on: { 'order.created': () => {} },
    onError: (error) => reports.push((error as Error).message),
  })
}

const receivers = new Map<string, FetchWebhooks>()
/** A number of this isolate, to see that there are several. */
const isolate = { id: 0 }

/** One receiver for all requests, with the store that it was made with at the first. */
function hooksOf(env: Env, name: string): FetchWebhooks {
  const known = receivers.get(name)
  if (known !== undefined) return known
  const hooks =
    captures[name]?.(env) ??
    tixWebhooks({
      secret: env.SECRET,
      store: name === 'd1' ? d1Store(env.DB) : durableObjectStore(env.WEBHOOKS, { shards: SHARDS }),
      namespace: 'orders',
      // Some wait for a place, which the request of another delivery gives back.
      concurrency: 2,
      on: {
        // A handler that fails once for each event: the retry of the sender runs it again.
        'order.created': async (event, ctx) => {
          await Promise.resolve()
          if (ctx.attempt === 1) throw new Error('the first run of each order fails')
          await env.DB.prepare('INSERT INTO runs (store, id) VALUES (?1, ?2)')
            .bind(name, event.data.order.id)
            .all()
        },
        'event.*': async () => {},
      },
      onError: () => {},
    })
  receivers.set(name, hooks)
  return hooks
}

/** 1,000 deliveries of 100 orders, the ten of an order close together, each to the next isolate; then whatever was refused once more. */
async function deliverAll(env: Env, name: string): Promise<{ statuses: number[]; retried: number[] }> {
  const services = [env.a, env.b, env.c, env.d]
  const deliveries = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      signedDelivery('order.created', {
        secret: env.SECRET,
        data: { order: { id: `ord_${name}_${index}` } },
      }),
    ),
  )
  const send = async (order: number, service: number): Promise<number> => {
    const request = deliveries[order]?.toRequest(`https://worker/hooks?store=${name}`) as Request
    const response = await (services[service % services.length] as Service).fetch(request)
    await response.text()
    return response.status
  }
  const atOnce = pLimit(20)
  const statuses = await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => atOnce(() => send(Math.floor(index / 10), index))),
  )
  const retried: number[] = []
  for (let round = 0; round < 2; round++) {
    retried.push(...(await Promise.all(deliveries.map((_, order) => atOnce(() => send(order, order))))))
  }
  return { statuses, retried }
}

export default {
  async fetch(
    request: Request,
    env: Env,
    ctx: { waitUntil(work: Promise<unknown>): void },
  ): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const service = request.headers.get('worker')
    if (service !== null && service !== 'a') {
      return env[service as 'b'].fetch(new Request(request.url))
    }
    const name = searchParams.get('store')
    const store = await backendOf(env, name).create()
    switch (pathname) {
      case '/migrate':
        await d1Store(env.DB).migrate()
        await d1Store(env.DB).migrate()
        await env.DB.batch([env.DB.prepare('CREATE TABLE runs (store TEXT, id TEXT)')] as never[])
        return Response.json('done')
      case '/exec': {
        const db = env.DB as D1Database & { exec(sql: string): Promise<{ count: number }> }
        const { ddl } = d1Store(db, { table: searchParams.get('table') ?? '' })
        return Response.json((await db.exec(ddl)).count)
      }
      case '/cases':
        return Response.json(await failedCases((lane) => backendOf(env, name, lane)))
      case '/handled':
        return Response.json(await handledFacts(backendOf(env, name, 'handled')))
      case '/call': {
        const table = searchParams.get('table')
        const called: object = table === null ? store : d1Store(env.DB, { table })
        const method: (options: object) => Promise<unknown> = Reflect.get(
          called,
          String(searchParams.get('method')),
        )
        const result = method({ limit: Number(searchParams.get('limit')) })
        return Response.json(
          await result.then(
            (value) => value ?? '',
            ({ message }) => message,
          ),
        )
      }
      case '/trap': {
        const statuses: number[] = []
        for (let index = 0; index < 3; index++) {
          const delivery = await signedDelivery('order.created', { secret: env.SECRET })
          const response = await env.a.fetch(delivery.toRequest(`https://worker/hooks?store=${name}`))
          await response.text()
          statuses.push(response.status)
        }
        return Response.json({ statuses, reports: [...new Set(reports.splice(0))] })
      }
      case '/deliveries':
        return Response.json(await deliverAll(env, name ?? ''))
      case '/claims': {
        isolate.id ||= Math.random()
        const claims = Array.from({ length: 20 }, (_, index) =>
          store.claim({
            key: searchParams.get('key') ?? '',
            token: `${isolate.id}-${index}`,
            leaseMs: MINUTE,
            retainMs: MINUTE,
          }),
        )
        return Response.json({ isolate: isolate.id, results: await Promise.all(claims) })
      }
      case '/objects':
        return Response.json(await toObjects(env.WEBHOOKS, searchParams.get('path') ?? '/count'))
      case '/runs':
        return Response.json(
          (await env.DB.prepare('SELECT id FROM runs WHERE store = ?1').bind(name).all()).results,
        )
      case '/sql': {
        const statements = (searchParams.getAll('sql') ?? []).map((sql) => env.DB.prepare(sql))
        const result = await env.DB.batch(statements as never[]).then(
          (results) => results.map(({ results }) => results),
          (error) => String(error),
        )
        return Response.json(result)
      }
      default:
        return hooksOf(env, name ?? '')(request, ctx)
    }
  },
}
