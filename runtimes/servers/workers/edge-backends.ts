import { type D1Database, d1Store } from 'tix-webhooks/d1'
import {
  type DurableObjectNamespace,
  type DurableObjectState,
  durableObjectStore,
  TixWebhooksObject,
} from 'tix-webhooks/durable-object'
import type { Backends } from '../../app/backends.js'

/** The bindings of every Worker of the lanes. */
export interface EdgeEnv {
  readonly DB: D1Database
  readonly WEBHOOKS: DurableObjectNamespace
}

const SHARDS = 2

const SHIFT =
  'UPDATE tix_webhooks_events SET lease_until = lease_until - ?1, expires_at = expires_at - ?1 WHERE max(lease_until, expires_at) > unixepoch() * 1000'

/** The object of the package, whose records can also be made older. */
export class LaneObject extends TixWebhooksObject {
  readonly #sql: DurableObjectState['storage']['sql']

  constructor(state: DurableObjectState) {
    super(state)
    this.#sql = state.storage.sql
  }

  override async fetch(request: Request): Promise<Response> {
    const ms = new URL(request.url).searchParams.get('shift')
    if (ms === null) return super.fetch(request)
    this.#sql.exec(SHIFT, Number(ms) as never)
    return new Response('')
  }
}

/** The stores of the platform. */
export function edgeBackends(env: EdgeEnv): Backends {
  const { DB, roundTripsOfD1 } = countedD1(env.DB)
  const { WEBHOOKS, roundTripsOfObjects } = countedObjects(env.WEBHOOKS)
  const d1 = d1Store(DB)
  const objects = durableObjectStore(WEBHOOKS, { shards: SHARDS })
  let migrated: Promise<void> | undefined
  const migrate = (): Promise<void> => {
    migrated ??= d1.migrate()
    return migrated
  }
  return {
    d1: {
      harness: {
        async create() {
          await migrate()
          return d1
        },
        createSecond: async () => d1Store(DB),
        advance: async (ms) => void (await DB.prepare(SHIFT).bind(ms).all()),
      },
      options: { store: d1 },
      roundTrips: roundTripsOfD1,
    },
    'durable-object': {
      harness: {
        create: async () => objects,
        createSecond: async () => durableObjectStore(WEBHOOKS, { shards: SHARDS }),
        async advance(ms) {
          for (let shard = 0; shard < SHARDS; shard++) {
            const stub = WEBHOOKS.get(WEBHOOKS.idFromName(`shard-${shard}`) as never)
            const answer = await stub.fetch(`https://lane/?shift=${ms}`, { method: 'POST', body: '' })
            await answer.text()
          }
        },
      },
      options: { store: objects },
      roundTrips: roundTripsOfObjects,
    },
  }
}

/** The binding, with a count of what the store sends: `batch` is one message. */
function countedD1(db: D1Database) {
  let trips = 0
  const DB: D1Database = {
    prepare: (sql) => db.prepare(sql),
    batch(statements) {
      trips += 1
      return db.batch(statements)
    },
  }
  return { DB, roundTripsOfD1: () => trips }
}

/** The binding, with a count of the requests to objects. */
function countedObjects(namespace: DurableObjectNamespace) {
  let trips = 0
  const WEBHOOKS: DurableObjectNamespace = {
    idFromName: (name) => namespace.idFromName(name),
    get(id) {
      const stub = namespace.get(id)
      return {
        fetch(url, init) {
          trips += 1
          return stub.fetch(url, init)
        },
      }
    },
  }
  return { WEBHOOKS, roundTripsOfObjects: () => trips }
}
