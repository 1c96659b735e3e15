import { join } from 'node:path'
import { Redis } from 'ioredis'
import type * as mariadb from 'mariadb'
import type mysql2 from 'mysql2/promise'
import { Pool } from 'pg'
import postgresClient from 'postgres'
import { createClient } from 'redis'
import type { HandledRecords, IdempotencyStore, LedgerStore } from 'tix-webhooks'
import { ddl as mysqlDdl, mysqlStore } from 'tix-webhooks/mysql'
import { ddl, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import type { InboxHarness } from 'tix-webhooks/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest'
import { EFFECTS, MYSQL_EFFECTS, mysqlHarness, postgresHarness, sqliteHarness } from './inbox-harnesses.js'
import { createMariadb, createMysql2, MYSQL_INBOX_CLIENTS } from './mysql-clients.js'
import { testMysqlDatabase } from './mysql-database.js'
import { mysqlUrl, onMysql, onPostgres, onRedis, postgresUrl, redisPrefix, redisUrl } from './on-servers.js'
import { INBOX_CLIENTS } from './postgres-clients.js'
import { testDatabase } from './postgres-database.js'
import {
  MYSQL,
  MYSQL_INBOXES,
  type OpenInbox,
  type OpenStore,
  POSTGRES,
  POSTGRES_INBOXES,
  REDIS,
} from './proof-clients.js'
import { mysqlPlace, type Place, postgresPlace, redisPlace } from './proof-places.js'
import { makeFolder, removeFolder } from './server-process.js'
import { SHIFT_REDIS, shiftMysql, shiftPostgres } from './shift-deadlines.js'
import { DRIVERS } from './sqlite-drivers.js'
import { openDatabase, type TestDatabase } from './sqlite-open.js'
import { memoryBackend, type StoreBackend } from './store-backend.js'
import { startProxy, type TcpProxy } from './tcp-proxy.js'

/** One of our stores, with what the tests need to run on it. */
interface OurStore {
  /** Its subpath, without the name of the package. */
  readonly entry: string
  /** Skipped if it has no server. */
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  /** The store and the inbox, over each client library. */
  readonly stores: readonly StoreKind[]
  readonly inboxes: readonly InboxKind[]
  /** Null if processes cannot share it over a network. */
  readonly proof: ProofServer | null
  /** The part of the random histories, rounds and events that it gets, if its commits take long. Default 1. */
  readonly share?: number
  /** Whether its records expire by themselves; otherwise it has `purge`. Default false. */
  readonly expires?: boolean
}

/** All are ledgers, but that of Redis. */
type HandledStore = (IdempotencyStore | LedgerStore) & HandledRecords

/** A fresh backend, and how to close it. */
export interface OpenBackend extends StoreBackend<HandledStore> {
  close(): Promise<void>
}

interface StoreKind {
  readonly name: string
  /** It sends what another kind sends: tests of the backend leave it out. */
  readonly isTwin?: boolean
  open(): Promise<OpenBackend>
}

interface InboxKind {
  readonly name: string
  /** The cases that its library does not pass, with the failure of each. */
  readonly fails?: Readonly<Record<string, string>>
  /** The members of the harness that it has no use for. */
  readonly lacks?: readonly string[]
  /** Prepares a database, in the body of a `describe`. Returns the harness for each test. */
  use(): () => InboxHarness<unknown>
}

/** A server on which apps in processes of their own share records. */
interface ProofServer {
  /** A new place on the server of the run. */
  openPlace(): Promise<Place>
  /** Each client's, by the name that apps are given. */
  readonly stores: Readonly<Record<string, OpenStore>>
  readonly inboxes: Readonly<Record<string, OpenInbox>>
  /** The clients for the tests that take long: of two that send the same statements, one. */
  readonly clients: readonly string[]
}

/** A client library under test: its name, how to connect, and how to close a connection. */
interface Kind<Client> {
  readonly name: string
  connect(): Client | Promise<Client>
  end(client: Client): unknown
}

/** The cases open many clients, each of which would need a second connection for its purge. */
const UNPURGED = { purgeEverySeconds: false } as const

let count = 0

/** Connections that are closed together, and a name for their table or their prefix of keys. */
function placeOf<Client>({ connect, end }: Kind<Client>) {
  const open: Client[] = []
  return {
    place: `t${process.pid}_${Date.now().toString(36)}_${count++}`,
    async connect() {
      const client = await connect()
      open.push(client)
      return client
    },
    close: async () => void (await Promise.all(open.map(end))),
  }
}

/** A store over a library; every client of a backend is a connection of its own. */
function storeKind<Client>(
  kind: Kind<Client>,
  storeOf: (client: Client, place: string) => HandledStore & { migrate?(): unknown },
  /** Moves the deadlines of all records of the place, as if that much time had passed on the server. */
  advance: (client: Client, place: string, ms: number) => Promise<unknown>,
): StoreKind {
  return {
    name: kind.name,
    async open() {
      const { place, connect, close } = placeOf(kind)
      const clock = await connect()
      await storeOf(clock, place).migrate?.()
      const create = async () => storeOf(await connect(), place)
      return {
        name: kind.name,
        create,
        createSecond: create,
        advance: async (ms) => void (await advance(clock, place, ms)),
        close,
      }
    },
  }
}

/** A proxy before a server of the run, for a `describe`. */
function useProxy(url: () => string): () => TcpProxy {
  let proxy: TcpProxy
  beforeAll(async () => {
    const { hostname: host, port } = new URL(url())
    proxy = await startProxy({ host, port: Number(port) })
  })
  afterAll(() => proxy.close())
  return () => proxy
}

const memory: OurStore = {
  entry: 'index',
  expires: true,
  describe,
  stores: [{ name: 'memoryStore', open: async () => ({ ...memoryBackend(), close: async () => {} }) }],
  inboxes: [],
  proof: null,
}

const ioredis = {
  name: 'redisStore on ioredis',
  connect: () => new Redis(redisUrl()),
  end: (client: Redis) => client.disconnect(),
}

const connectNodeRedis = () => createClient({ url: redisUrl() }).connect()
const nodeRedis = {
  name: 'redisStore on node-redis',
  connect: connectNodeRedis,
  end: (client: Awaited<ReturnType<typeof connectNodeRedis>>) => client.destroy(),
}

const redis: OurStore = {
  entry: 'redis',
  expires: true,
  describe: onRedis,
  stores: [
    storeKind(
      ioredis,
      (client, place) => redisStore(client, { prefix: redisPrefix(place) }),
      (client, place, ms) => client.eval(SHIFT_REDIS, 0, redisPrefix(place), ms),
    ),
    storeKind(
      nodeRedis,
      (client, place) => redisStore(client, { prefix: redisPrefix(place) }),
      (client, place, ms) => client.eval(SHIFT_REDIS, { arguments: [redisPrefix(place), String(ms)] }),
    ),
  ],
  inboxes: [],
  proof: {
    openPlace: () => redisPlace(redisUrl(), redisPrefix('proof')),
    stores: REDIS,
    inboxes: {},
    clients: ['ioredis', 'node-redis'],
  },
}

const onPg = (name: string) => ({
  name: `${name} on pg`,
  connect: () => new Pool({ connectionString: postgresUrl(), max: 8 }),
  end: (pool: Pool) => pool.end(),
})

const onJs = (name: string) => ({
  name: `${name} on postgres.js`,
  connect: () => postgresClient(postgresUrl(), { max: 8, idle_timeout: 5, onnotice() {} }),
  end: (sql: postgresClient.Sql) => sql.end(),
})

const postgres: OurStore = {
  entry: 'postgres',
  describe: onPostgres,
  stores: [
    storeKind(
      onPg('postgresStore'),
      (pool, table) => postgresStore(pool, { table, ...UNPURGED }),
      (pool, table, ms) => pool.query(shiftPostgres(table, ms)),
    ),
    storeKind(
      onJs('postgresStore'),
      (sql, table) => postgresStore(sql, { table, ...UNPURGED }),
      (sql, table, ms) => sql.unsafe(shiftPostgres(table, ms)),
    ),
  ],
  inboxes: INBOX_CLIENTS.map((library) => ({
    name: `postgresInbox over ${library.name}`,
    // It learns of a lost connection with its next statement.
    ...(library.name === 'Kysely' && { fails: { 'lost-at-once': 'it has not ended after 0.5 s' } }),
    use() {
      const database = testDatabase(EFFECTS, ddl)
      const proxy = useProxy(postgresUrl)
      return () => postgresHarness(library, database, proxy()) as never
    },
  })),
  proof: {
    openPlace: () => postgresPlace(postgresUrl()),
    stores: POSTGRES,
    inboxes: POSTGRES_INBOXES,
    clients: ['pg', 'postgres.js'],
  },
}

const onMysql2 = (name: string) => ({
  name: `${name} on mysql2`,
  connect: () => createMysql2(mysqlUrl(), { connectionLimit: 8 }),
  end: (pool: mysql2.Pool) => pool.end(),
})

const onMariadb = (name: string) => ({
  name: `${name} on mariadb`,
  connect: () => createMariadb(mysqlUrl(), { connectionLimit: 8 }),
  end: (pool: mariadb.Pool) => pool.end(),
})

/**
 * It learns of a lost connection with its next statement; and in its own transaction, after a deadlock that a handler has caught, the
 * server commits each further statement by itself.
 */
const OF_KYSELY = {
  'lost-at-once': 'it has not ended after 0.5 s',
  swallowed: 'expected nothing to be written, but there is "after"',
}

const mysql: OurStore = {
  entry: 'mysql',
  describe: onMysql,
  share: 1 / 2,
  stores: [
    storeKind(
      onMysql2('mysqlStore'),
      (pool, table) => mysqlStore(pool, { table }),
      (pool, table, ms) => pool.query(shiftMysql(table, ms)),
    ),
    {
      ...storeKind(
        onMariadb('mysqlStore'),
        (pool, table) => mysqlStore(pool, { table }),
        (pool, table, ms) => pool.query(shiftMysql(table, ms)),
      ),
      isTwin: true,
    },
  ],
  inboxes: MYSQL_INBOX_CLIENTS.map((library) => ({
    name: `mysqlInbox over ${library.name}`,
    ...(library.name === 'Kysely' && { fails: OF_KYSELY }),
    use() {
      const database = testMysqlDatabase(...MYSQL_EFFECTS, mysqlDdl)
      const proxy = useProxy(mysqlUrl)
      return () => mysqlHarness(library, database, proxy()) as never
    },
  })),
  proof: {
    openPlace: () => mysqlPlace(mysqlUrl()),
    stores: MYSQL,
    inboxes: MYSQL_INBOXES,
    clients: ['mysql2'],
  },
}

const drivers = DRIVERS.filter(({ isHere }) => isHere).map(({ name }) => name)

/** A file that each client opens by itself. */
async function openFile(driver: string) {
  const folder = await makeFolder()
  const opened: TestDatabase[] = []
  return {
    connect() {
      const db = openDatabase(driver, join(folder, 'app.db'))
      opened.push(db)
      return db
    },
    async close() {
      for (const db of opened) db.close()
      await removeFolder(folder)
    },
  }
}

async function openSqliteStore(driver: string): Promise<OpenBackend> {
  const { connect, close } = await openFile(driver)
  let now = Date.now()
  const create = async () => {
    const store = sqliteStore(connect(), { now: () => now })
    await store.migrate()
    return store
  }
  const advance = async (ms: number): Promise<void> => {
    now += ms
  }
  return { name: driver, create, createSecond: create, advance, close }
}

const sqlite: OurStore = {
  entry: 'sqlite',
  describe,
  stores: drivers.map((driver) => ({
    name: `sqliteStore on ${driver}`,
    open: () => openSqliteStore(driver),
  })),
  inboxes: drivers.map((driver) => ({
    name: `sqliteInbox on ${driver}`,
    // It has no connection to lose, and no transaction within another.
    lacks: ['nest', 'cut'],
    use() {
      let file: Awaited<ReturnType<typeof openFile>>
      let db: TestDatabase
      beforeEach(async () => {
        file = await openFile(driver)
        db = file.connect()
        db.exec(EFFECTS)
        await sqliteInbox(db).migrate()
      })
      afterEach(() => file.close())
      return () => sqliteHarness(db) as never
    },
  })),
  proof: null,
}

/** Our stores: test/stores and test/proof run on each. */
export const OUR_STORES = [memory, redis, postgres, mysql, sqlite] as const

/** Those whose server apps in several processes share. */
export const PROVED = OUR_STORES.flatMap(({ proof, ...store }) => (proof === null ? [] : { ...store, proof }))

/** Those with an inbox. */
export const PROVED_INBOXES = PROVED.filter(({ inboxes }) => inboxes.length > 0)
