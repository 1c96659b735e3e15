import { Pool as NeonPool, neonConfig } from '@neondatabase/serverless'
import { Redis as Upstash } from '@upstash/redis/cloudflare'
import { Pool } from 'pg'
import postgres from 'postgres'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import type { Backend, Backends } from '../../app/backends.js'
import { toProxy } from '../backends/neon.js'
import { postgresHarness, ROWS } from '../backends/postgres.js'
import { redisHarness } from '../backends/redis.js'

/** The servers that a Worker reaches, by Upstash's REST protocol and by TCP. */
export interface ClientEnv {
  readonly UPSTASH_URL: string
  readonly UPSTASH_TOKEN: string
  readonly DATABASE_URL: string
  readonly NEON_PROXY: string
  readonly HYPERDRIVE: { readonly connectionString: string }
}

/** Ends what was opened for a request. */
type End = () => Promise<unknown>

/** As docs/stores.md says for a store that is made for each request: each would purge. */
const UNPURGED = { purgeEverySeconds: false } as const

const opened = new WeakMap<object, End[]>()

/** Ends the clients of a request: pass it to `waitUntil`. */
export async function endClients(request: Request): Promise<void> {
  await Promise.all((opened.get(request) ?? []).map((end) => end()))
}

function endLater(request: object, end: End): void {
  opened.set(request, [...(opened.get(request) ?? []), end])
}

/** The stores and inboxes over clients that connect: each belongs to the request that it was made for. */
export function clientBackends(env: ClientEnv): Backends {
  toProxy(neonConfig, env.NEON_PROXY)
  const openUpstash = () =>
    new Upstash({ url: env.UPSTASH_URL, token: env.UPSTASH_TOKEN, enableTelemetry: false })
  const openPostgresJs = () => postgres(env.DATABASE_URL, { max: 2, fetch_types: false })
  const openNeon = () => new NeonPool({ connectionString: env.DATABASE_URL, max: 2 }) as unknown as Pool
  const ofRequest = (request: object): postgres.Sql => {
    const sql = openPostgresJs()
    endLater(request, () => sql.end())
    return sql
  }
  return {
    upstash: {
      harness: redisHarness(openUpstash, (client, script, args) => client.eval(script, [], args)),
      options: { store: redisStore(openUpstash()) },
    },
    ...ofPg('pg', () => new Pool({ connectionString: env.DATABASE_URL, max: 2 })),
    ...ofPg('hyperdrive', () => new Pool({ connectionString: env.HYPERDRIVE.connectionString, max: 2 })),
    ...ofPg('neon', openNeon),
    'postgres.js': {
      harness: postgresHarness(openPostgresJs, (client, text) => client.unsafe(text)),
      options: { store: (request: object) => postgresStore(ofRequest(request), UNPURGED) },
    },
    'postgres.js-inbox': {
      options: { inbox: (request: object) => postgresInbox(ofRequest(request), UNPURGED) },
      write: (tx: postgres.TransactionSql, id) => tx.unsafe(`INSERT INTO ${ROWS} VALUES ($1)`, [id]),
      async rows() {
        const sql = openPostgresJs()
        const rows = await sql.unsafe<{ id: string }[]>(`SELECT id FROM ${ROWS}`)
        await sql.end()
        return rows.map(({ id }) => id)
      },
    },
  }
}

/** A store and an inbox on a pool of `pg`, or one like it. */
function ofPg(name: string, open: () => Pool): Record<string, Backend> {
  const ofRequest = (request: object): Pool => {
    const pool = open()
    endLater(request, () => pool.end())
    return pool
  }
  return {
    [name]: {
      harness: postgresHarness(open, async (client, text) => (await client.query(text)).rows),
      options: { store: (request: object) => postgresStore(ofRequest(request), UNPURGED) },
    },
    [`${name}-inbox`]: {
      options: { inbox: (request: object) => postgresInbox(ofRequest(request), UNPURGED) },
      write: (tx: Pool, id) => tx.query(`INSERT INTO ${ROWS} VALUES ($1)`, [id]),
      async rows() {
        const pool = open()
        const { rows } = await pool.query<{ id: string }>(`SELECT id FROM ${ROWS}`)
        await pool.end()
        return rows.map(({ id }) => id)
      },
    },
  }
}
