import mysql from 'mysql2/promise'
import { mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { mysqlUrl, onMysql } from '../on-servers.js'
import type { World } from './world.js'
import type { WorldKind } from './worlds.js'

let count = 0

async function openMysql(kind: 'store' | 'inbox'): Promise<World> {
  const name = `model_${process.pid}_${Date.now().toString(36)}_${count++}`
  const server = await mysql.createConnection(mysqlUrl())
  await server.query(`CREATE DATABASE ${name}`).finally(() => server.end())
  const url = new URL(mysqlUrl())
  url.pathname = `/${name}`
  const pool = mysql.createPool({ uri: url.href, connectionLimit: 6 })
  await pool.query('CREATE TABLE effects (effect VARCHAR(255) NOT NULL)')
  const failures = mysqlFailures(pool)
  const inbox = mysqlInbox(pool)
  const store = mysqlStore(pool, { table: 'leases' })
  for (const one of [failures, inbox, store]) await one.migrate()
  return {
    name: `MySQL, ${kind}`,
    failures,
    records: kind === 'inbox' ? inbox : store,
    guard: kind === 'inbox' ? { inbox: inbox as never } : { store },
    isJoined: kind === 'inbox',
    effect: (tx, effect) => ((tx ?? pool) as mysql.Pool).query('INSERT INTO effects VALUES (?)', [effect]),
    effects: async () =>
      (await pool.query<mysql.RowDataPacket[]>('SELECT effect FROM effects'))[0].map(({ effect }) => effect),
    endLeases: async () =>
      void (await pool.query(
        'UPDATE leases SET lease_until = lease_until - INTERVAL 2 MINUTE WHERE lease_until > UTC_TIMESTAMP(6)',
      )),
    async close() {
      await pool.query(`DROP DATABASE ${name}`)
      await pool.end()
    },
  }
}

export const MYSQL_WORLDS: readonly WorldKind[] = (['store', 'inbox'] as const).map((kind) => ({
  name: `MySQL, ${kind}`,
  describe: onMysql,
  runs: 2,
  open: () => openMysql(kind),
}))
