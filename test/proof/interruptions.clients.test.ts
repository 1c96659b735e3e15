import { Redis } from 'ioredis'
import { Kysely, PostgresDialect } from 'kysely'
import type mysql from 'mysql2/promise'
import { Pool, type PoolClient } from 'pg'
import postgres from 'postgres'
import { type Inbox, memoryStore } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { ddl, mysqlInbox } from 'tix-webhooks/mysql'
import { postgresInbox } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { interruptions, signedDelivery } from 'tix-webhooks/testing'
import { expect, test } from 'vitest'
import { SECRET } from '../support/deliveries.js'
import { createMariadb, createMysql2 } from '../support/mysql-clients.js'
import { testMysqlDatabase } from '../support/mysql-database.js'
import { onMysql, onPostgres, onRedis, redisPrefix, redisUrl } from '../support/on-servers.js'
import { type TestDatabase, testDatabase } from '../support/postgres-database.js'

interface Row {
  readonly id: string
}
interface Tables {
  orders: Row
  tickets: Row
}

/** A client of Postgres, and how a handler writes an order and its ticket with it in one transaction. */
interface Client<Db> {
  readonly name: string
  open(database: TestDatabase): { readonly db: Db; end(): Promise<unknown> }
  write(db: Db, row: Row): Promise<unknown>
  /** The interruptions after which they are there twice: those from the COMMIT to the completion in the store. */
  readonly twice: readonly string[]
}

const poolOf = ({ url, settings }: TestDatabase) =>
  new Pool({ connectionString: url, options: settings(), max: 3 })

const pgPool: Client<Pool> = {
  name: 'pg',
  open(database) {
    const db = poolOf(database)
    return { db, end: () => db.end() }
  },
  async write(db, { id }) {
    const client = await db.connect()
    try {
      await client.query('BEGIN')
      await client.query('INSERT INTO orders VALUES ($1)', [id])
      await client.query('INSERT INTO tickets VALUES ($1)', [id])
      await client.query('COMMIT')
    } finally {
      client.release()
    }
  },
  twice: [
    'dies after db.connect().query',
    'dies before db.connect().release',
    'dies after db.connect().release',
    'dies before store.complete',
  ],
}

const kysely: Client<Kysely<Tables>> = {
  name: 'Kysely',
  open(database) {
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: poolOf(database) }) })
    return { db, end: () => db.destroy() }
  },
  async write(db, row) {
    const tx = await db.startTransaction().execute()
    await tx.insertInto('orders').values(row).execute()
    await tx.insertInto('tickets').values(row).execute()
    await tx.commit().execute()
  },
  twice: ['dies after db.startTransaction().execute().commit().execute', 'dies before store.complete'],
}

const postgresJs: Client<postgres.Sql> = {
  name: 'postgres.js',
  open({ url, schema }) {
    const db = postgres(url, { connection: { search_path: schema }, max: 3 })
    return { db, end: () => db.end({ timeout: 0 }) }
  },
  write: (db, row) =>
    db.begin(async (sql) => {
      await sql`INSERT INTO orders ${sql({ ...row })}`
      await sql`INSERT INTO tickets VALUES (${row.id})`
    }),
  twice: ['dies after db.begin', 'dies before store.complete'],
}

const CLIENTS = [pgPool, kysely, postgresJs] as readonly Client<object>[]

const deliver = () => signedDelivery('order.created', { secret: SECRET })
const withoutNumber = (name: string): string => name.replace(/ \(call \d+\)$/, '')

/** Interrupts a handler that writes an order and its ticket through an inbox, at each call. */
async function expectOneEffect<World extends AsyncDisposable & object, Tx>(
  prepare: () => Promise<World>,
  open: (world: World) => {
    inbox: Inbox<Tx>
    write(tx: Tx, table: string, id: string): Promise<unknown>
  },
  rows: () => Promise<unknown[][]>,
): Promise<void> {
  const all = await interruptions({
    prepare,
    start: (world, { now }) => {
      const { inbox, write } = open(world)
      return tixWebhooks<Tx>({
        secret: SECRET,
        now,
        inbox,
        namespace: 'orders',
        on: {
          'order.created': async ({ data: { order } }, { tx }) => {
            await write(tx, 'orders', order.id)
            await write(tx, 'tickets', order.id)
          },
        },
        onError: () => {},
      })
    },
    delivery: await deliver(),
    also: 'rejects',
  })

  expect(all.length).toBeGreaterThan(16)
  for (const { name, run, story } of all) {
    await using _ = await run()
    const counts = (await rows()).map((column) => column.length)
    expect(counts, `${name}\n${story()}`).toEqual([1, 1])
  }
}

onPostgres('a handler that is interrupted at each call', () => {
  const database = testDatabase('CREATE TABLE orders (id text)', 'CREATE TABLE tickets (id text)')
  const rows = async () => [await database.column('TABLE orders'), await database.column('TABLE tickets')]

  test.each(CLIENTS)('writes both rows or none in a transaction of $name', async ({ open, write, twice }) => {
    const all = await interruptions({
      async prepare() {
        await database.query('TRUNCATE orders, tickets')
        const { db, end } = open(database)
        return { db, store: memoryStore(), [Symbol.asyncDispose]: async () => void (await end()) }
      },
      start: ({ db, store }, { now }) => {
        const on = {
          'order.created': ({ data }: { data: { order: Row } }) => write(db, { id: data.order.id }),
        }
        return tixWebhooks({ secret: SECRET, namespace: 'orders', now, store, on })
      },
      delivery: await deliver(),
    })

    const seenTwice: string[] = []
    for (const { name, run, story } of all) {
      await using _ = await run()
      const [first, second] = await rows()
      expect(first, `${name}\n${story()}`).toEqual(second)
      if (first?.length !== 1) seenTwice.push(withoutNumber(name))
    }
    expect(seenTwice).toEqual(twice)
  })

  test('has its effect exactly once through postgresInbox, and loses no connection', async () => {
    await expectOneEffect(
      async () => {
        const pool = new Pool({ connectionString: database.url, options: database.settings(), max: 1 })
        await postgresInbox(pool).migrate()
        await database.query('TRUNCATE orders, tickets, tix_webhooks_events')
        return { pool, [Symbol.asyncDispose]: () => pool.end() }
      },
      ({ pool }) => ({
        inbox: postgresInbox(pool, { purgeEverySeconds: false }),
        write: (tx: PoolClient, table, id) => tx.query(`INSERT INTO ${table} VALUES ($1)`, [id]),
      }),
      rows,
    )
  })
})

onMysql.each([
  ['mysql2', createMysql2],
  ['mariadb', createMariadb],
] as const)('a handler that is interrupted at each call of %s', (_name, create) => {
  const database = testMysqlDatabase(
    'CREATE TABLE orders (id VARCHAR(64))',
    'CREATE TABLE tickets (id VARCHAR(64))',
    ddl,
  )

  test('has its effect exactly once through mysqlInbox, and loses no connection', async () => {
    const tables = ['orders', 'tickets', 'tix_webhooks_events']
    await expectOneEffect(
      async () => {
        // A second one for when the first was got and its caller is told that it was not: nobody can give it back.
        const pool = create(database.url, { connectionLimit: 2 }) as mysql.Pool
        for (const table of tables) await database.query(`DELETE FROM ${table}`)
        return { pool, [Symbol.asyncDispose]: () => pool.end() }
      },
      ({ pool }) => ({
        inbox: mysqlInbox(pool, { purgeEverySeconds: false }),
        write: (tx: mysql.PoolConnection, table, id) => tx.query(`INSERT INTO ${table} VALUES (?)`, [id]),
      }),
      async () => [
        await database.column('SELECT id FROM orders'),
        await database.column('SELECT id FROM tickets'),
      ],
    )
  })
})

onRedis('a handler with a client and a store of Redis', () => {
  test('is run again after a lease of the dead process, in virtual time', async () => {
    const key = redisPrefix('interruptions')
    const all = await interruptions({
      async prepare() {
        const redis = new Redis(redisUrl())
        const used = await redis.keys(`${key}*`)
        if (used.length > 0) await redis.del(used)
        return {
          redis,
          store: redisStore(redis, { prefix: `${key}store:` }),
          [Symbol.dispose]: () => redis.disconnect(),
        }
      },
      start: ({ redis, store }, { now }) => {
        const on = { 'order.created': () => redis.pipeline().incr(`${key}orders`).exec() }
        return tixWebhooks({ secret: SECRET, namespace: 'orders', now, store, on })
      },
      delivery: await deliver(),
    })

    const counts: Record<string, string | null> = {}
    for (const { name, run } of all) {
      using world = await run()
      counts[withoutNumber(name)] = await world.redis.get(`${key}orders`)
    }
    expect(counts).toEqual({
      'dies before store.claim': '1',
      'dies after store.claim': '1',
      'dies before redis.pipeline': '1',
      'dies after redis.pipeline': '1',
      'dies before redis.pipeline().incr': '1',
      'dies after redis.pipeline().incr': '1',
      'dies before redis.pipeline().exec': '1',
      'dies after redis.pipeline().exec': '2',
      'dies before store.complete': '2',
      'dies after store.complete': '1',
    })
  })
})
