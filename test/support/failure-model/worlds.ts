import { join } from 'node:path'
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
import { createMysql2 } from '../mysql-clients.js'
import { testMysqlDatabase } from '../mysql-database.js'
import { onMysql, onPostgres } from '../on-servers.js'
import { testDatabase } from '../postgres-database.js'
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
  /** In the body of a `describe`: how to open it, before its tests. */
  use(): () => Promise<World>
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

function usePostgres() {
  const database = testDatabase('CREATE TABLE effects (effect text NOT NULL)')
  return async (): Promise<Database> => {
    const pool = new Pool({ connectionString: database.url, options: database.settings(), max: 6 })
    return {
      failures: postgresFailures(pool),
      inbox: postgresInbox(pool) as never,
      store: postgresStore(pool, { table: 'leases' }),
      effect: (tx, effect) => ((tx ?? pool) as PoolClient).query('INSERT INTO effects VALUES ($1)', [effect]),
      effects: async () => (await database.column('SELECT effect FROM effects')).map(String),
      endLeases: async () =>
        void (await pool.query(
          "UPDATE leases SET lease_until = lease_until - interval '2 min' WHERE lease_until > now()",
        )),
      close: () => pool.end(),
    }
  }
}

function useMysql() {
  const database = testMysqlDatabase('CREATE TABLE effects (effect VARCHAR(255) NOT NULL)')
  return async (): Promise<Database> => {
    const pool = createMysql2(database.url, { connectionLimit: 6 })
    return {
      failures: mysqlFailures(pool),
      inbox: mysqlInbox(pool) as never,
      store: mysqlStore(pool, { table: 'leases' }),
      effect: (tx, effect) => ((tx ?? pool) as typeof pool).query('INSERT INTO effects VALUES (?)', [effect]),
      effects: async () => (await database.column('SELECT effect FROM effects')).map(String),
      endLeases: async () =>
        void (await pool.query(
          'UPDATE leases SET lease_until = lease_until - INTERVAL 2 MINUTE WHERE lease_until > UTC_TIMESTAMP(6)',
        )),
      close: () => pool.end(),
    }
  }
}

const useSqlite = (driver: string) => () => async (): Promise<Database> => {
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
  { name: 'Postgres', describe: onPostgres, runs: 6, use: usePostgres },
  { name: 'MySQL', describe: onMysql, runs: 2, use: useMysql },
  ...DRIVERS.map(({ name, isHere }) => ({
    name: `SQLite on ${name}`,
    describe: describe.skipIf(!isHere),
    runs: 10,
    use: useSqlite(name),
  })),
]

export const WORLDS: readonly WorldKind[] = [
  { name: 'memoryStore', describe, runs: 20, use: () => () => openMemory(false) },
  { name: 'a remote store', describe, runs: 20, use: () => () => openMemory(true) },
  { name: 'an inbox of another database', describe, runs: 20, use: () => openInboxBeside },
  ...DATABASES.flatMap(({ name, use, ...more }) =>
    (['inbox', 'store'] as const).map((kind) => ({
      ...more,
      name: `${name}, ${kind}`,
      use: () => onDatabase(use(), kind),
    })),
  ),
]
