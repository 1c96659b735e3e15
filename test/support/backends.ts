import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import Libsql from 'libsql'
import { Pool } from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import type { HandledRecords, IdempotencyStore } from 'tix-webhooks'
import { type MysqlPool, mysqlStore } from 'tix-webhooks/mysql'
import { postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { type SqliteDatabase, sqliteStore } from 'tix-webhooks/sqlite'
import { describe } from 'vitest'
import { createMariadb, createMysql2 } from './mysql-clients.js'
import { mysqlUrl, onMysql, onPostgres, onRedis, postgresUrl, redisPrefix, redisUrl } from './on-servers.js'
import { memoryBackend, type PurgingStore, type StoreBackend } from './store-backend.js'

/** A fresh backend on a server of the run, and how to close it. */
export interface OpenBackend<Store extends IdempotencyStore = IdempotencyStore> extends StoreBackend<Store> {
  close(): Promise<void>
}

/** A store over one client library: `describe` if it is available, and a fresh backend. */
export interface StoreKind<Store extends IdempotencyStore = IdempotencyStore> {
  readonly name: string
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  open(): Promise<OpenBackend<Store>>
}

type HandledStore = IdempotencyStore & HandledRecords

let count = 0
const unique = (): string => `${process.pid}_${Date.now().toString(36)}_${count++}`

const SHIFT = `
  local cursor = '0'
  repeat
    local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1] .. '*', 'COUNT', 1000)
    cursor = page[1]
    for _, key in ipairs(page[2]) do
      local rest = redis.call('PTTL', key) - ARGV[2]
      if rest <= 0 then redis.call('DEL', key) else redis.call('PEXPIRE', key, rest) end
    end
  until cursor == '0'`

/** Moves the deadlines of every record under a prefix, as if that much time had passed on the server. */
export async function shiftRecords(client: Redis, prefix: string, ms: number): Promise<void> {
  await client.eval(SHIFT, 0, prefix, ms)
}

async function openIoredis(): Promise<OpenBackend<HandledStore>> {
  const prefix = redisPrefix(unique())
  const clients: Redis[] = []
  const connect = (): Redis => {
    const client = new Redis(redisUrl())
    clients.push(client)
    return client
  }
  const clock = connect()
  const create = async () => redisStore(connect(), { prefix })
  return {
    name: 'ioredis',
    create,
    createSecond: create,
    advance: (ms) => shiftRecords(clock, prefix, ms),
    close: async () => {
      for (const client of clients) client.disconnect()
    },
  }
}

async function openNodeRedis(): Promise<OpenBackend<HandledStore>> {
  const prefix = redisPrefix(unique())
  const connect = () => createClient({ url: redisUrl() }).connect()
  const clock = await connect()
  const clients = [clock]
  const create = async () => {
    const client = await connect()
    clients.push(client)
    return redisStore(client, { prefix })
  }
  return {
    name: 'node-redis',
    create,
    createSecond: create,
    advance: async (ms) => void (await clock.eval(SHIFT, { arguments: [prefix, String(ms)] })),
    close: async () => {
      for (const client of clients) client.destroy()
    },
  }
}

// Records past all their deadlines stay unchanged: earlier tests leave many.
const shiftTable = (table: string, ms: number): string => `
  UPDATE ${table}
  SET lease_until = lease_until - interval '${ms} ms',
    expires_at = expires_at - interval '${ms} ms',
    purge_after = purge_after - interval '${ms} ms'
  WHERE greatest(lease_until, expires_at, purge_after) > now()`

async function openPg(): Promise<OpenBackend<PurgingStore & HandledStore>> {
  const table = `store_${unique()}`
  const pools: Pool[] = []
  const connect = (): Pool => {
    const pool = new Pool({ connectionString: postgresUrl(), max: 8 })
    pools.push(pool)
    return pool
  }
  const clock = connect()
  await postgresStore(clock, { table }).migrate()
  const create = async () => postgresStore(connect(), { table })
  return {
    name: 'pg',
    create,
    createSecond: create,
    advance: async (ms) => void (await clock.query(shiftTable(table, ms))),
    close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
  }
}

async function openPostgresJs(): Promise<OpenBackend<PurgingStore & HandledStore>> {
  const table = `store_${unique()}`
  const pools: postgres.Sql[] = []
  const connect = (): postgres.Sql => {
    const sql = postgres(postgresUrl(), { max: 8 })
    pools.push(sql)
    return sql
  }
  const clock = connect()
  await postgresStore(clock, { table }).migrate()
  const create = async () => postgresStore(connect(), { table })
  return {
    name: 'postgres.js',
    create,
    createSecond: create,
    advance: async (ms) => void (await clock.unsafe(shiftTable(table, ms))),
    close: async () => void (await Promise.all(pools.map((sql) => sql.end()))),
  }
}

const shiftMysqlTable = (table: string, ms: number): string => `
  UPDATE ${table}
  SET lease_until = lease_until - INTERVAL ${ms * 1000} MICROSECOND,
    expires_at = expires_at - INTERVAL ${ms * 1000} MICROSECOND,
    purge_after = purge_after - INTERVAL ${ms * 1000} MICROSECOND
  WHERE greatest(lease_until, expires_at, purge_after) > UTC_TIMESTAMP(6)`

function mysqlBackend<Pool extends MysqlPool & { query(sql: string): Promise<unknown> }>(
  name: string,
  openPool: () => Pool,
) {
  return async (): Promise<OpenBackend<PurgingStore & HandledStore>> => {
    const table = `store_${unique()}`
    const pools: Pool[] = []
    const connect = (): Pool => {
      const pool = openPool()
      pools.push(pool)
      return pool
    }
    const clock = connect()
    await mysqlStore(clock, { table }).migrate()
    const create = async () => mysqlStore(connect(), { table })
    return {
      name,
      create,
      createSecond: create,
      advance: async (ms) => void (await clock.query(shiftMysqlTable(table, ms))),
      close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
    }
  }
}

function sqliteBackend(name: string, openFile: (file: string) => SqliteDatabase & { close(): void }) {
  return async (): Promise<OpenBackend<PurgingStore & HandledStore>> => {
    const folder = mkdtempSync(join(tmpdir(), 'tix-webhooks-sqlite-'))
    const file = join(folder, 'store.db')
    const open: { close(): void }[] = []
    const start = Date.now()
    let now = start
    const create = async (): Promise<PurgingStore & HandledStore> => {
      const db = openFile(file)
      open.push(db)
      const store = sqliteStore(db, { now: () => now })
      await store.migrate()
      return store
    }
    return {
      name,
      create,
      createSecond: create,
      advance: async (ms) => {
        now += ms
      },
      close: async () => {
        for (const db of open) db.close()
        rmSync(folder, { recursive: true })
      },
    }
  }
}

type NodeSqlite = { DatabaseSync: new (file: string) => SqliteDatabase & { close(): void } }

/** Built in since Node 22.5, and looked up so that older versions can load this file. */
const nodeSqlite = process.getBuiltinModule('node:sqlite') as unknown as NodeSqlite | undefined

export const SQLITE_KINDS: readonly StoreKind<PurgingStore & HandledStore>[] = [
  { name: 'sqliteStore on libsql', describe, open: sqliteBackend('libsql', (file) => new Libsql(file)) },
  {
    name: 'sqliteStore on node:sqlite',
    describe: describe.skipIf(nodeSqlite === undefined),
    open: sqliteBackend('node:sqlite', (file) => {
      if (nodeSqlite === undefined) throw new Error('This Node has no node:sqlite')
      return new nodeSqlite.DatabaseSync(file)
    }),
  },
]

export const POSTGRES_KINDS = [
  { name: 'postgresStore on pg', describe: onPostgres, open: openPg },
  { name: 'postgresStore on postgres.js', describe: onPostgres, open: openPostgresJs },
] as const

export const MYSQL_KINDS = [
  {
    name: 'mysqlStore on mysql2',
    describe: onMysql,
    open: mysqlBackend('mysql2', () => createMysql2(mysqlUrl(), { connectionLimit: 8 })),
  },
  {
    name: 'mysqlStore on mariadb',
    describe: onMysql,
    open: mysqlBackend('mariadb', () => createMariadb(mysqlUrl(), { connectionLimit: 8 })),
  },
] as const

/** The clients of MySQL send the same statements: what tests the SQL, and not the client, needs one of them. */
export const isOfOneMysqlClient = ({ name }: { readonly name: string }): boolean =>
  name !== 'mysqlStore on mariadb'

/** Every store of ours, over every client library. */
export const OWN_STORE_KINDS: readonly StoreKind<HandledStore>[] = [
  { name: 'memoryStore', describe, open: async () => ({ ...memoryBackend(), close: async () => {} }) },
  { name: 'redisStore on ioredis', describe: onRedis, open: openIoredis },
  { name: 'redisStore on node-redis', describe: onRedis, open: openNodeRedis },
  ...POSTGRES_KINDS,
  ...MYSQL_KINDS,
  ...SQLITE_KINDS,
]

/** Every store that the tests of the contract run on. */
export const STORE_KINDS: readonly StoreKind[] = [...OWN_STORE_KINDS]
