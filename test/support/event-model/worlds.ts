import { join } from 'node:path'
import { Pool, type PoolClient } from 'pg'
import { type LedgerInbox, type LedgerStore, memoryStore } from 'tix-webhooks'
import { mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { type SqliteTransaction, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe } from 'vitest'
import { createMysql2 } from '../mysql-clients.js'
import { testMysqlDatabase } from '../mysql-database.js'
import { onMysql, onPostgres } from '../on-servers.js'
import { testDatabase } from '../postgres-database.js'
import { makeFolder, removeFolder } from '../server-process.js'
import { shiftMysql, shiftPostgres } from '../shift-deadlines.js'
import { DRIVERS } from '../sqlite-drivers.js'
import { openDatabase, type TestDatabase, valuesOf } from '../sqlite-open.js'
import { delayed } from '../store-backend.js'
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

/** A fresh database, with a table of effects. */
interface Database extends Omit<World, 'backend'> {
  readonly inbox: LedgerInbox<never> & { migrate(): unknown }
  readonly store: LedgerStore & { migrate(): unknown }
}

function onDatabase(open: () => Promise<Database>, kind: 'inbox' | 'store') {
  return async (): Promise<World> => {
    const { inbox, store, overlaps = false, ...database } = await open()
    for (const one of [inbox, store]) await one.migrate()
    const isInbox = kind === 'inbox'
    return { ...database, overlaps: isInbox && overlaps, backend: isInbox ? { inbox } : { store } }
  }
}

function usePostgres() {
  const database = testDatabase('CREATE TABLE effects (effect text NOT NULL)')
  return async (): Promise<Database> => {
    const pool = new Pool({ connectionString: database.url, options: database.settings(), max: 6 })
    return {
      inbox: postgresInbox(pool) as never,
      store: postgresStore(pool) as never,
      effect: (tx, effect) => ((tx ?? pool) as PoolClient).query('INSERT INTO effects VALUES ($1)', [effect]),
      effects: async () => (await database.column('SELECT effect FROM effects')).map(String),
      advance: async (ms) => void (await pool.query(shiftPostgres('tix_webhooks_events', ms))),
      close: () => pool.end(),
    }
  }
}

function useMysql() {
  const database = testMysqlDatabase('CREATE TABLE effects (effect VARCHAR(255) NOT NULL)')
  return async (): Promise<Database> => {
    const pool = createMysql2(database.url, { connectionLimit: 6 })
    return {
      inbox: mysqlInbox(pool) as never,
      store: mysqlStore(pool) as never,
      effect: (tx, effect) => ((tx ?? pool) as typeof pool).query('INSERT INTO effects VALUES (?)', [effect]),
      effects: async () => (await database.column('SELECT effect FROM effects')).map(String),
      advance: async (ms) => void (await pool.query(shiftMysql('tix_webhooks_events', ms))),
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
    inbox: sqliteInbox(db, { now: () => now }) as never,
    store: sqliteStore(db, { now: () => now }) as never,
    overlaps: true,
    effect(tx, effect) {
      const write = (handed: TestDatabase) =>
        void handed.prepare('INSERT INTO effects VALUES (?)').run(effect)
      return tx === undefined ? write(db) : (tx as SqliteTransaction<TestDatabase>).commit(write)
    },
    effects: async () => valuesOf(db, 'SELECT effect FROM effects') as string[],
    async advance(ms) {
      now += ms
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
  const { isVolatile: _, ...rest } = store
  const effects: string[] = []
  return {
    backend: { store: isRemote ? delayed(rest) : store },
    effect: (_, effect) => effects.push(effect),
    effects: async () => effects,
    async advance(ms) {
      now += ms
    },
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
  { name: 'memoryStore', describe, runs: 30, use: () => () => openMemory(false) },
  { name: 'a remote store', describe, runs: 30, use: () => () => openMemory(true) },
  ...DATABASES.flatMap(({ name, use, ...more }) =>
    (['inbox', 'store'] as const).map((kind) => ({
      ...more,
      name: `${name}, ${kind}`,
      use: () => onDatabase(use(), kind),
    })),
  ),
]
