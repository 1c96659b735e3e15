import { Pool as NeonPool, neonConfig } from '@neondatabase/serverless'
import { Pool } from 'pg'
import postgres from 'postgres'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import type { Backend, Backends } from '../../app/backends.js'
import { toProxy } from './neon.js'
import { postgresHarness, ROWS } from './postgres.js'

/** Postgres behind the poolers of hosted services, as apps on Node use them. */
export function poolerBackends({ PGBOUNCER_URL, DATABASE_URL, NEON_PROXY }: NodeJS.ProcessEnv): Backends {
  if (PGBOUNCER_URL === undefined || DATABASE_URL === undefined || NEON_PROXY === undefined) return {}
  toProxy(neonConfig, NEON_PROXY)
  const pgbouncer = new Pool({ connectionString: PGBOUNCER_URL })
  const sql = postgres(PGBOUNCER_URL, { prepare: false })
  // The types of the two libraries differ in what we do not use.
  const neon = new NeonPool({ connectionString: DATABASE_URL }) as unknown as Pool
  return {
    pgbouncer: ofPg(pgbouncer),
    'pgbouncer-inbox': inboxOfPg(pgbouncer),
    'pgbouncer-postgres.js': {
      harness: postgresHarness(
        () => sql,
        (client, text) => client.unsafe(text),
      ),
      options: { store: postgresStore(sql) },
    },
    'pgbouncer-postgres.js-inbox': {
      options: { inbox: postgresInbox(sql) },
      write: (tx: postgres.TransactionSql, id) => tx.unsafe(`INSERT INTO ${ROWS} VALUES ($1)`, [id]),
      rows: async () => idsOf(await sql.unsafe(`SELECT id FROM ${ROWS}`)),
    },
    neon: ofPg(neon),
    'neon-inbox': inboxOfPg(neon),
  }
}

function ofPg(pool: Pool): Backend {
  const harness = postgresHarness(
    () => pool,
    async (client, text) => (await client.query(text)).rows,
  )
  return { harness, options: { store: postgresStore(pool) } }
}

function inboxOfPg(pool: Pool): Backend {
  return {
    options: { inbox: postgresInbox(pool) },
    write: (tx: Pool, id) => tx.query(`INSERT INTO ${ROWS} VALUES ($1)`, [id]),
    rows: async () => idsOf((await pool.query(`SELECT id FROM ${ROWS}`)).rows),
  }
}

function idsOf(rows: readonly unknown[]): string[] {
  return rows.map((row) => (row as { id: string }).id)
}
