import { Socket } from 'node:net'
import { Redis } from 'ioredis'
import { Kysely, MysqlDialect, PostgresDialect } from 'kysely'
import * as mariadb from 'mariadb'
import { createPool } from 'mysql2'
import mysql from 'mysql2/promise'
import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { createClient, createClientPool } from 'redis'
import type { LedgerInbox, RemoteLedgerStore, RemoteStore } from 'tix-webhooks'
import { ddl as mysqlDdl, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { fromKysely, ddl as postgresDdl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { LEAVE_EVERY_MS, ROLLBACK_MS } from '../../src/durations.js'
import { orderCreated, SECRET } from '../support/deliveries.js'
import { failedDelivery } from '../support/failed-delivery.js'
import { MYSQL_LIBRARIES, openLibrary, POSTGRES_LIBRARIES } from '../support/libraries.js'
import { startMysql } from '../support/mysql-server.js'
import { onOwnMysql, onOwnPostgres, onOwnRedis } from '../support/on-servers.js'
import { readPage } from '../support/pages.js'
import { hasPgBouncer, startPgBouncer } from '../support/pgbouncer-server.js'
import { startPostgres } from '../support/postgres-server.js'
import { deferred } from '../support/promises.js'
import { receiving } from '../support/receiving.js'
import { startRedis } from '../support/redis-server.js'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.js'

/** One of two servers that do not know each other: what matters is which one takes writes. */
interface Server {
  readonly port: number
  /** Of an app's user. */
  readonly url: string
  /** Makes it refuse writes on connections that it keeps. */
  demote(): Promise<void>
  promote(): Promise<void>
  stop(): Promise<void>
}

interface Opened {
  readonly store?: RemoteStore & Partial<RemoteLedgerStore> & { purge?: Purging['purge'] }
  readonly inbox?: LedgerInbox<never> & Purging & Pick<ReturnType<typeof postgresInbox>, 'recordIfNewest'>
  /** Default: as many as it may. */
  readonly connections?: number
  /** Two writes of the app in a transaction that outlasts the limit of a ROLLBACK of ours. Resolves to those that are there. */
  readonly transfer?: () => Promise<unknown>
  close(): Promise<unknown>
}

interface Purging {
  check(): Promise<void>
  purge(options?: { limit: number }): Promise<number>
}

/** Opens a client with so many connections at most. */
type Open = (url: string, connections: number) => Promise<Opened>

interface Kind {
  readonly name: string
  readonly describe: typeof onOwnRedis
  start(): Promise<Server>
  readonly clients: Readonly<Record<string, Open>>
  /** Those with a limit for a connection that goes silent, far shorter than in the table of docs/stores.md. */
  readonly limited?: Readonly<Record<string, Open>>
}

const ORDERS = 'CREATE TABLE orders (id VARCHAR(191) PRIMARY KEY)'

/** Expired events, because a purge that finds none need not write. They are too young for one in the background. */
function expired(count: number): string {
  const rows = Array.from(
    { length: count },
    (_, i) => `('expired/${i}', 'handled', '', 1, 0, 1, ${Date.now()})`,
  )
  return `INSERT INTO tix_webhooks_events (event_key, state, token, attempt, lease_until, expires_at, received_at)
    VALUES ${rows}`
}

async function postgresServer(): Promise<Server> {
  const { port, url, stop } = await startPostgres()
  const admin = new Client({ connectionString: url, options: '-c default_transaction_read_only=off' })
  await admin.connect()
  await admin.query(`${ORDERS}; ${postgresDdl}; ${expired(200)}`)
  // The role of a session need not be its user's, as with users that are made for each login.
  await admin.query('CREATE ROLE owner; CREATE ROLE app LOGIN IN ROLE owner; ALTER ROLE app SET role = owner')
  await admin.query('GRANT ALL ON ALL TABLES IN SCHEMA public TO owner')
  async function setReadOnly(value: 'on' | 'off'): Promise<void> {
    await admin.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await admin.query('SELECT pg_reload_conf()')
    // The server tells the sessions that there are before it starts one that knows.
    for (let shown: unknown; shown !== value; ) {
      const probe = new Client({ connectionString: url })
      await probe.connect()
      shown = (await probe.query('SHOW default_transaction_read_only')).rows[0].default_transaction_read_only
      await probe.end()
    }
  }
  return {
    port,
    url: url.replace('postgres@', 'app@'),
    demote: () => setReadOnly('on'),
    promote: () => setReadOnly('off'),
    async stop() {
      await admin.end()
      await stop()
    },
  }
}

async function mysqlServer(): Promise<Server> {
  const { port, url, stop } = await startMysql()
  const admin = await mysql.createConnection(url)
  await admin.query('CREATE DATABASE tix')
  await admin.query('USE tix')
  for (const sql of [ORDERS, ...mysqlDdl.split(';\n'), expired(200)])
    if (sql.trim() !== '') await admin.query(sql)
  // Such a right as root's is one to write on a server that is read-only.
  await admin.query("CREATE USER app@'%'")
  await admin.query("GRANT ALL ON tix.* TO app@'%'")
  return {
    port,
    url: `mysql://app@127.0.0.1:${port}/tix`,
    demote: async () => void (await admin.query('SET GLOBAL read_only = 1')),
    promote: async () => void (await admin.query('SET GLOBAL read_only = 0')),
    async stop() {
      await admin.end()
      await stop()
    },
  }
}

/** @param servesStale whether it answers reads while it is a replica without a primary */
function redisServer(servesStale: boolean): () => Promise<Server> {
  return async () => {
    const { port, url, stop } = await startRedis({
      args: ['--replica-serve-stale-data', servesStale ? 'yes' : 'no'],
    })
    const admin = new Redis(url)
    return {
      port,
      url,
      // Of a primary that is not there, because it answers LOADING for a moment while it copies one.
      demote: async () => void (await admin.replicaof('127.0.0.1', '1')),
      promote: async () => void (await admin.replicaof('NO', 'ONE')),
      async stop() {
        admin.disconnect()
        await stop()
      },
    }
  }
}

const REDIS_CLIENTS: Kind['clients'] = {
  async ioredis(url) {
    const client = new Redis(url).on('error', () => {})
    return { store: redisStore(client), close: async () => client.disconnect() }
  },
  async 'node-redis'(url) {
    const client = createClient({ url }).on('error', () => {})
    await client.connect()
    return { store: redisStore(client), close: async () => client.destroy() }
  },
  async 'a pool of node-redis'(url, connections) {
    const client = createClientPool({ url }, { minimum: connections, maximum: connections })
    client.on('error', () => {})
    await client.connect()
    return { store: redisStore(client), close: async () => client.destroy() }
  },
}

const REDIS_LIMITED: Kind['clients'] = {
  async ioredis(url) {
    const client = new Redis(url, { socketTimeout: 300 }).on('error', () => {})
    return { store: redisStore(client), close: async () => client.disconnect() }
  },
  async 'node-redis'(url) {
    const options = { url, socket: { socketTimeout: 300, reconnectStrategy: () => 20 }, pingInterval: 100 }
    // Without these options, a pool with room for more recovers too, but keeps the silent connections.
    const client = createClientPool(options, { minimum: 1, maximum: 1 })
    client.on('error', () => {})
    await client.connect()
    return { store: redisStore(client), close: async () => client.destroy() }
  },
}

/** A socket that ends if nothing goes through it for a while. */
function limitedSocket(): Socket {
  const socket = new Socket()
  return socket.setTimeout(300, () => socket.destroy(new Error('silent')))
}

function openPostgres(pool: Pool | postgres.Sql, close: () => Promise<unknown>): Opened {
  return {
    store: postgresStore(pool),
    inbox: postgresInbox(pool as Pool) as never,
    close,
  }
}

function openMysql(pool: mysql.Pool | mariadb.Pool): Opened {
  return {
    store: mysqlStore(pool),
    inbox: mysqlInbox(pool as mysql.Pool) as never,
    close: () => pool.end(),
  }
}

async function postgresJs(url: string, max: number, options: object = {}): Promise<Opened> {
  const sql = postgres(url, { max, fetch_types: false, onnotice() {}, ...options })
  return {
    ...openPostgres(sql, () => sql.end({ timeout: 0 })),
    async transfer() {
      await sql.begin(async (tx) => {
        await tx`INSERT INTO orders VALUES ('debit')`
        // In short statements, because postgres.js holds back a foreign one while another is in progress.
        for (let passed = 0; passed < ROLLBACK_MS + 500; passed += 50) await tx`SELECT pg_sleep(0.05)`
        await tx`INSERT INTO orders VALUES ('credit')`
      })
      return (await sql`DELETE FROM orders RETURNING id`).map(({ id }) => id)
    },
  }
}

async function pg(url: string, max: number): Promise<Opened> {
  const pool = new Pool({ connectionString: url, max }).on('error', () => {})
  return openPostgres(pool, () => pool.end())
}

/** PgBouncer keeps the connections to the server that the pool has closed. */
async function pgBehindPgBouncer(url: string, max: number): Promise<Opened> {
  const bouncer = await startPgBouncer(new URL(url), { settings: { default_pool_size: max } })
  const opened = await pg(bouncer.url, max)
  return {
    ...opened,
    async close() {
      await opened.close()
      await bouncer.stop()
    },
  }
}

const mysql2: Open = async (uri, connectionLimit) => openMysql(mysql.createPool({ uri, connectionLimit }))

const ofMariadb: Open = async (url, connections) =>
  openMysql(mariadb.createPool(`${url.replace(/^mysql/, 'mariadb')}?connectionLimit=${connections}`))

function openKysely(inbox: unknown, db: { destroy(): Promise<void> }): Opened {
  return { inbox: inbox as never, close: () => db.destroy() }
}

const KYSELY_ON_PG: Open = async (url, max) => {
  const pool = new Pool({ connectionString: url, max, stream: limitedSocket })
  const db = new Kysely<Record<never, never>>({ dialect: new PostgresDialect({ pool }) })
  return openKysely(postgresInbox(fromKysely(db, pool)), db)
}

const KYSELY_ON_MYSQL2: Open = async (uri, connectionLimit) => {
  const { port } = new URL(uri)
  const stream = (): Socket => limitedSocket().connect(Number(port), '127.0.0.1')
  const db = new Kysely<Record<never, never>>({
    dialect: new MysqlDialect({ pool: createPool({ uri, connectionLimit, stream }) }),
  })
  return openKysely(mysqlInbox(fromKysely(db)), db)
}

function openLibraries(
  database: 'postgres' | 'mysql',
  libraries: typeof POSTGRES_LIBRARIES,
): Kind['clients'] {
  return Object.fromEntries(
    libraries.map((library) => [
      library.name,
      async (url) => {
        vi.stubEnv('DATABASE_URL', url)
        const opened = await openLibrary(database, url, library)
        return { inbox: opened.inbox as never, connections: 1, close: () => library.close(opened as never) }
      },
    ]),
  )
}

const KINDS: readonly Kind[] = [
  {
    name: 'Postgres',
    describe: onOwnPostgres,
    start: postgresServer,
    clients: {
      pg,
      'postgres.js': postgresJs,
      ...(hasPgBouncer() && { 'pg behind PgBouncer': pgBehindPgBouncer }),
      ...openLibraries('postgres', POSTGRES_LIBRARIES),
    },
    limited: {
      pg,
      'postgres.js': (url, max) => {
        const { port } = new URL(url)
        return postgresJs(url, max, { socket: () => limitedSocket().connect(Number(port), '127.0.0.1') })
      },
      'a library on pg': KYSELY_ON_PG,
    },
  },
  {
    name: 'MySQL',
    describe: onOwnMysql,
    start: mysqlServer,
    clients: {
      mysql2,
      mariadb: ofMariadb,
      ...openLibraries('mysql', MYSQL_LIBRARIES),
    },
    limited: { mysql2, mariadb: ofMariadb, 'a library on mysql2': KYSELY_ON_MYSQL2 },
  },
  {
    name: 'Redis',
    describe: onOwnRedis,
    start: redisServer(true),
    clients: REDIS_CLIENTS,
    limited: REDIS_LIMITED,
  },
  {
    name: 'Redis that answers nothing without its primary',
    describe: onOwnRedis,
    start: redisServer(false),
    clients: REDIS_CLIENTS,
  },
]

const HOUR_MS = 3_600_000
let keys = 0
const newKey = (): string => `test/order.created/${++keys}`

/** Each call that writes. */
function callsOf({ store, inbox }: Opened): [name: string, call: () => Promise<unknown>][] {
  const calls: Record<string, (() => Promise<unknown>) | false | undefined> = {
    'store.claim':
      store && (() => store.claim({ key: newKey(), token: 't', leaseMs: 1_000, retainMs: HOUR_MS })),
    'store.complete': store && (() => store.complete({ key: newKey(), token: 't' }, HOUR_MS)),
    'store.keep': store?.keep && (async () => store.keep?.(failedDelivery({ key: newKey() }))),
    'store.check': store && (() => store.check()),
    'store.purge': store?.purge && (async () => store.purge?.({ limit: 1 })),
    once: inbox && (() => inbox.once({ key: newKey(), retainMs: HOUR_MS }, async () => {})),
    'the handler, which writes first':
      inbox &&
      (() =>
        inbox.once({ key: null, retainMs: HOUR_MS }, async (tx) => {
          await inbox.recordIfNewest(tx, { subject: newKey(), at: '2026-05-17T14:02:11Z' })
        })),
    'inbox.keep': inbox && (async () => inbox.keep(failedDelivery({ key: newKey() }))),
    'inbox.check': inbox && (async () => inbox.check()),
    'inbox.purge': inbox && (() => inbox.purge({ limit: 1 })),
  }
  return Object.entries(calls).flatMap(([name, call]) => (call ? [[name, call]] : []))
}

function protectionOf({ store, inbox }: Opened): object {
  return { ...(inbox ? { inbox } : { store }), namespace: 'test', on: { 'order.created': () => {} } }
}

const REFUSED = /read-only|failing over/

for (const { name, describe, start, clients, limited = {} } of KINDS) {
  describe(`after a failover of a ${name} that keeps its connections`, () => {
    let right: Server
    let wrong: Server
    let proxy: TcpProxy
    beforeAll(async () => {
      ;[right, wrong] = await Promise.all([start(), start()])
      await wrong.demote()
      proxy = await startProxy({ port: right.port })
    })
    afterAll(async () => {
      await proxy?.close()
      await Promise.all([right?.stop(), wrong?.stop()])
    })

    async function failOver(): Promise<void> {
      ;[right, wrong] = [wrong, right]
      await wrong.demote()
      await right.promote()
      proxy.moveTo(right.port)
    }

    async function openThrough(open: Open, connections: number, { port } = proxy): Promise<Opened> {
      vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
      onTestFinished(() => void vi.unstubAllEnvs())
      const url = new URL(right.url)
      url.port = String(port)
      const opened = await open(url.href, connections)
      onTestFinished(async () => void (await opened.close()))
      return opened
    }

    test.each(Object.entries(clients))(
      'each call on the one connection of %s fails once at most, and then succeeds on a new one',
      async (_, open) => {
        vi.useFakeTimers({ toFake: ['performance'] })
        onTestFinished(() => void vi.useRealTimers())
        const opened = await openThrough(open, 1)
        const ends: unknown[] = []
        let refused = 0
        for (const [name, call] of callsOf(opened)) {
          await call()
          await failOver()
          // A Redis that stays read-only is left once in that time.
          vi.advanceTimersByTime(LEAVE_EVERY_MS)
          const tries = [await call().then(() => 'done', String), await call().then(() => 'done', String)]
          // A pool may have closed a connection that was idle for seconds, so that the first succeeds.
          ends.push([name, tries[0] === 'done' || REFUSED.test(String(tries[0])), tries[1]])
          refused += Number(tries[0] !== 'done')
          if (tries[1] !== 'done') break
        }
        expect(ends).toEqual(callsOf(opened).map(([name]) => [name, true, 'done']))
        expect(refused).toBeGreaterThan(0)
      },
    )

    test.each(
      Object.entries(clients).flatMap(([client, open]) =>
        (['deliveries', 'health()'] as const).map((what) => ({ what, client, open })),
      ),
    )('$what alone recover over $client within a call for each connection', async ({ what, open }) => {
      const opened = await openThrough(open, 3)
      let arrived = 0
      const all = deferred<void>()
      const { send, receiver } = receiving({
        ...protectionOf(opened),
        concurrency: 3,
        on: {
          // With an inbox, each run holds a connection: so all are open.
          async 'order.created'() {
            if (++arrived === (opened.connections ?? 3)) all.resolve()
            await all.promise
          },
        },
      })
      const deliver = async () => (await send(orderCreated())).outcome === 'handled'
      expect(await Promise.all([deliver(), deliver(), deliver()])).toEqual([true, true, true])
      await failOver()
      const succeeds = what === 'deliveries' ? deliver : async () => (await receiver.health()).ok
      let failed = 0
      while (!(await succeeds()) && failed < 10) failed++
      expect(failed).toBeLessThanOrEqual(3)
    })

    // postgres.js sends a ROLLBACK when the work of a transaction fails, also if its connection has been closed and opened again since.
    const { 'postgres.js': open } = clients
    test.skipIf(open === undefined)('a transaction of the app on the new connection is whole', async () => {
      const opened = await openThrough(open as Open, 1)
      await opened.inbox?.check()
      await failOver()
      await expect(opened.inbox?.check()).rejects.toThrow(REFUSED)
      expect(await opened.transfer?.()).toEqual(['debit', 'credit'])
    })

    // mariadb ends its sessions itself.
    const { mysql2: openMysql2 } = clients
    test.skipIf(openMysql2 === undefined)(
      'a session of the same number on another server lives',
      async () => {
        const idOf = async (connection: mysql.Connection): Promise<number> => {
          const [rows] = await connection.query('SELECT CONNECTION_ID() AS id')
          return (rows as { id: number }[])[0]?.id as number
        }
        /** The last of the connections that are opened until one has such a number. */
        async function connectUpTo(id: number, { url }: Server): Promise<mysql.Connection> {
          for (;;) {
            const connection = await mysql.createConnection(url)
            onTestFinished(() => connection.destroy())
            if ((await idOf(connection)) >= id) return connection
          }
        }
        const first = await connectUpTo(0, wrong)
        await connectUpTo((await idOf(first)) + 1, right)
        const { inbox } = await openThrough(openMysql2 as Open, 1)
        let stranger = first
        const run = inbox?.once({ key: newKey(), retainMs: HOUR_MS }, async (tx: mysql.Connection) => {
          stranger = await connectUpTo(await idOf(tx), wrong)
          expect(await idOf(stranger)).toBe(await idOf(tx))
          tx.query('SELECT SLEEP(60)').catch(() => {})
          await failOver()
          throw new Error('It failed')
        })
        await expect(run).rejects.toThrow('It failed')
        // The only connection of the pool is free once the session is dealt with.
        const before = proxy.connections
        await inbox?.check()
        expect(proxy.connections).toBeGreaterThan(0 * before)
        expect(await idOf(stranger)).toBeGreaterThan(0)
      },
    )

    test('a handler whose error is that of another server loses no connection', async () => {
      for (const [client, open] of Object.entries(clients)) {
        const before = proxy.connections
        const opened = await openThrough(open, 1)
        // A library may close its connection after any error.
        if (opened.connections !== undefined) continue
        const otherServers = Object.assign(
          new Error('The MySQL server is running with the --read-only option'),
          {
            code: '25006',
            errno: 1290,
            sqlState: 'HY000',
          },
        )
        const { send } = receiving({
          ...protectionOf(opened),
          on: {
            'order.created': (event: { data: { order: { id: string } } }) => {
              if (event.data.order.id === 'fails') throw otherServers
            },
          },
        })
        await send(orderCreated())
        const own = proxy.connections - before
        expect([client, (await send(orderCreated({ id: 'fails' }))).outcome]).toEqual([client, 'failed'])
        await send(orderCreated())
        expect([client, proxy.connections - before]).toEqual([client, own])
      }
    })

    // At once, because pools of pg, mysql2 and mariadb are left to our own limits of 12 s.
    test.skipIf(Object.keys(limited).length === 0)('recovers from connections that go silent', async () => {
      const ends = Object.entries(limited).map(async ([client, open]) => {
        const own = await startProxy({ port: right.port })
        onTestFinished(() => own.close())
        const opened = await openThrough(open, 1, own)
        const { send } = receiving({ ...protectionOf(opened), timeoutSeconds: 1 })
        const deliver = async () => (await send(orderCreated())).outcome === 'handled'
        // The first connects, which may take longer.
        while (!(await deliver()));
        own.silence()
        let failed = 0
        while (!(await deliver()) && failed < 60) failed++
        return [client, failed < 60 && own.connections > 1]
      })
      expect(await Promise.all(ends)).toEqual(Object.keys(limited).map((client) => [client, true]))
    })
  })
}

test('docs/stores.md has a row for each client that goes silent here', () => {
  const [, table = ''] = readPage('docs/stores.md').split('| for a silent connection |')
  const rows = table.split('\n\n', 1)[0]?.split('\n').slice(2) ?? []
  const clients = KINDS.flatMap(({ limited = {} }) => Object.keys(limited))
  const named = rows.flatMap((row) => row.slice(2, row.indexOf(' | ')).split(', '))
  expect(named.sort()).toEqual(clients.sort())
})
