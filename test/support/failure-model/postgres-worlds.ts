import { Pool, type PoolClient } from 'pg'
import { postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { onPostgres, postgresUrl } from '../on-servers.js'
import type { World } from './world.js'
import type { WorldKind } from './worlds.js'

let count = 0

async function openPostgres(kind: 'store' | 'inbox'): Promise<World> {
  const schema = `model_${process.pid}_${Date.now().toString(36)}_${count++}`
  const pool = new Pool({ connectionString: postgresUrl(), options: `-c search_path=${schema}`, max: 6 })
  await pool.query(`CREATE SCHEMA ${schema}`)
  await pool.query('CREATE TABLE effects (effect text NOT NULL)')
  const failures = postgresFailures(pool)
  const inbox = postgresInbox(pool)
  const store = postgresStore(pool, { table: 'leases' })
  for (const one of [failures, inbox, store]) await one.migrate()
  return {
    name: `Postgres, ${kind}`,
    failures,
    records: kind === 'inbox' ? inbox : store,
    guard: kind === 'inbox' ? { inbox: inbox as never } : { store },
    isJoined: kind === 'inbox',
    effect: (tx, effect) =>
      ((tx ?? pool) as PoolClient).query('INSERT INTO effects (effect) VALUES ($1)', [effect]),
    effects: async () => (await pool.query('SELECT effect FROM effects')).rows.map(({ effect }) => effect),
    endLeases: async () =>
      void (await pool.query(
        "UPDATE leases SET lease_until = lease_until - interval '2 min' WHERE lease_until > now()",
      )),
    async close() {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`)
      await pool.end()
    },
  }
}

export const POSTGRES_WORLDS: readonly WorldKind[] = (['store', 'inbox'] as const).map((kind) => ({
  name: `Postgres, ${kind}`,
  describe: onPostgres,
  runs: 6,
  open: () => openPostgres(kind),
}))
