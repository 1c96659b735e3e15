import { join } from 'node:path'
import mysql from 'mysql2/promise'
import { Pool, type PoolClient } from 'pg'
import {
  type HandledRecords,
  type IdempotencyStore,
  type Inbox,
  type KeptFailures,
  memoryFailures,
  memoryStore,
} from 'tix-webhooks'
import { mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { type SqliteTransaction, sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe } from 'vitest'
import { honestInbox, type Ledger } from '../honest-inbox.js'
import { mysqlUrl, onMysql, onPostgres, postgresUrl } from '../on-servers.js'
import { makeFolder, removeFolder } from '../server-process.js'
import { DRIVERS } from '../sqlite-drivers.js'
import { openDatabase, type TestDatabase, valuesOf } from '../sqlite-open.js'
import type { World } from './world.js'

/** A world, and whether it is available. */
interface WorldKind {
  readonly name: string
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  /** How many histories: a server takes longer for one. */
  readonly runs: number
  open(): Promise<World>
}

/** More than a lease. */
const LEASES_END_MS = 2 * 60_000

/** A fresh database, with a table of effects. */
interface Database extends Pick<World, 'effect' | 'effects' | 'endLeases' | 'close' | 'overlaps'> {
  readonly failures: KeptFailures & { migrate(): unknown }
  readonly inbox: Inbox<never> & HandledRecords & { migrate(): unknown }
  readonly store: IdempotencyStore & HandledRecords & { migrate(): unknown }
}

function onDatabase(open: () => Promise<Database>, kind: 'inbox' | 'store') {
  return async (): Promise<World> => {
    const { failures, inbox, store, ...database } = await open()
    for (const one of [failures, inbox, store]) await one.migrate()
    const isInbox = kind === 'inbox'
    return {
      ...database,
      failures,
      records: isInbox ? inbox : store,
      guard: isInbox ? { inbox } : { store },
      isJoined: isInbox,
    }
  }
}

let count = 0
const unique = (): string => `model_${process.pid}_${Date.now().toString(36)}_${count++}`

async function openPostgres(): Promise<Database> {
  const schema = unique()
  const pool = new Pool({ connectionString: postgresUrl(), options: `-c search_path=${schema}`, max: 6 })
  await pool.query(`CREATE SCHEMA ${schema}`)
  await pool.query('CREATE TABLE effects (effect text NOT NULL)')
  return {
    failures: postgresFailures(pool),
    inbox: postgresInbox(pool) as never,
    store: postgresStore(pool, { table: 'leases' }),
    effect: (tx, effect) => ((tx ?? pool) as PoolClient).query('INSERT INTO effects VALUES ($1)', [effect]),
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

async function openMysql(): Promise<Database> {
  const name = unique()
  const server = await mysql.createConnection(mysqlUrl())
  await server.query(`CREATE DATABASE ${name}`).finally(() => server.end())
  const url = new URL(mysqlUrl())
  url.pathname = `/${name}`
  const pool = mysql.createPool({ uri: url.href, connectionLimit: 6 })
  await pool.query('CREATE TABLE effects (effect VARCHAR(255) NOT NULL)')
  return {
    failures: mysqlFailures(pool),
    inbox: mysqlInbox(pool) as never,
    store: mysqlStore(pool, { table: 'leases' }),
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

const openSqlite = (driver: string) => async (): Promise<Database> => {
  const folder = await makeFolder()
  const db = openDatabase(driver, join(folder, 'model.db'))
  db.exec('CREATE TABLE effects (effect TEXT NOT NULL)')
  let now = Date.now()
  return {
    failures: sqliteFailures(db),
    inbox: sqliteInbox(db) as never,
    store: sqliteStore(db, { table: 'leases', now: () => now }),
    overlaps: true,
    effect(tx, effect) {
      const write = (handed: TestDatabase) =>
        void handed.prepare('INSERT INTO effects VALUES (?)').run(effect)
      return tx === undefined ? write(db) : (tx as SqliteTransaction<TestDatabase>).commit(write)
    },
    effects: async () => valuesOf(db, 'SELECT effect FROM effects') as string[],
    endLeases: async () => {
      now += LEASES_END_MS
    },
    async close() {
      db.close()
      await removeFolder(folder)
    },
  }
}

/** @param isRemote whether the store answers later, and survives the process */
async function openMemory(isRemote: boolean): Promise<World> {
  let now = 0
  const store = memoryStore({ now: () => now })
  const remote: IdempotencyStore = {
    claim: async (request) => store.claim(request),
    renew: async (lease, leaseMs) => store.renew(lease, leaseMs),
    complete: async (lease, retainMs) => store.complete(lease, retainMs),
    release: async (lease) => store.release(lease),
  }
  const effects: string[] = []
  return {
    failures: memoryFailures({ maxKeys: 1_000_000 }),
    records: store,
    guard: { store: isRemote ? remote : store },
    isJoined: false,
    effect: (_, effect) => effects.push(effect),
    effects: async () => effects,
    endLeases: async () => {
      now += LEASES_END_MS
    },
    close: async () => {},
  }
}

async function openInboxBeside(): Promise<World> {
  const { inbox, effects, records } = honestInbox()
  return {
    failures: memoryFailures({ maxKeys: 1_000_000 }),
    records: { isHandled: async (key) => records.has(key) },
    guard: { inbox: inbox as never },
    isJoined: false,
    effect: (tx, effect) => (tx as Ledger).write(effect),
    effects: async () => effects,
    endLeases: async () => {},
    close: async () => {},
  }
}

const DATABASES = [
  { name: 'Postgres', describe: onPostgres, runs: 6, open: openPostgres },
  { name: 'MySQL', describe: onMysql, runs: 2, open: openMysql },
  ...DRIVERS.map(({ name, isHere }) => ({
    name: `SQLite on ${name}`,
    describe: describe.skipIf(!isHere),
    runs: 10,
    open: openSqlite(name),
  })),
]

export const WORLDS: readonly WorldKind[] = [
  { name: 'memoryStore', describe, runs: 20, open: () => openMemory(false) },
  { name: 'a remote store', describe, runs: 20, open: () => openMemory(true) },
  { name: 'an inbox of another database', describe, runs: 20, open: openInboxBeside },
  ...DATABASES.flatMap(({ name, open, ...more }) =>
    (['inbox', 'store'] as const).map((kind) => ({
      ...more,
      name: `${name}, ${kind}`,
      open: onDatabase(open, kind),
    })),
  ),
]
