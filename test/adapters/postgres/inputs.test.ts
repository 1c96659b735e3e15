import { neon } from '@neondatabase/serverless'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { Kysely, PostgresDialect } from 'kysely'
import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { Sequelize } from 'sequelize'
import {
  type PostgresInboxOptions,
  type PostgresStoreOptions,
  postgresInbox,
  postgresStore,
  schema,
} from 'tix-webhooks/postgres'
import { DataSource } from 'typeorm'
import { describe, expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { onPostgres } from '../../support/on-servers.js'
import { openPg, STORE_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { endpoint } from '../../support/postgres-endpoint.js'

// None of them connects before it is used.
const pool = new Pool()
const sql = postgres('postgres://127.0.0.1:1/none')

describe.each([
  ['postgresStore', postgresStore as (client: never, options?: object) => unknown],
  ['postgresInbox', postgresInbox as (client: never, options?: object) => unknown],
])('%s', (name, create) => {
  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a connection string', 'postgres://127.0.0.1/none', 'a string'],
    ['the Pool class', Pool, 'a function'],
    ['an empty object', {}, 'an object'],
    ['a pool of another kind', { connect() {}, query() {}, transaction() {} }, 'an object'],
    ['a promise of a pool', Promise.resolve(pool), 'a promise'],
  ])('refuses %s instead of a pool, and says what it takes', (_, client, what) => {
    const make = () => create(client as never)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(`pool must be a Pool of pg, or the sql of postgres.js, not ${what} `)
  })

  // The objects themselves, made as their documentation does; of what is not installed here, the methods that it has.
  const POOL_OF_PG = 'new Pool({ connectionString: process.env.DATABASE_URL })'
  const NEON_POOL = `import { Pool } from '@neondatabase/serverless' and call ${name}(${POOL_OF_PG})`
  test.each<[what: string, object: () => unknown, inbox: string, store: string]>([
    [
      'a DataSource of TypeORM',
      () => new DataSource({ type: 'postgres' }),
      '{ transaction: (work) => dataSource.transaction(work), query: async (manager, text, parameters) => (await manager.queryRunner.query(',
      POOL_OF_PG,
    ],
    [
      'a Sequelize',
      () => new Sequelize({ dialect: 'postgres' }),
      '{ transaction: (work) => sequelize.transaction(work), query: (transaction, text, parameters) => sequelize.query(',
      POOL_OF_PG,
    ],
    ['the HTTP function of Neon', () => neon('postgresql://u:p@h.neon.tech/db'), NEON_POOL, NEON_POOL],
    ['a Drizzle database', () => drizzle(pool), '{ as: (client) => drizzle(client) }', 'postgresStore(pool)'],
    [
      'a Drizzle database',
      () => drizzlePostgresJs(sql),
      '{ as: (client) => drizzle(client) }',
      'postgresStore(pool)',
    ],
    [
      'a Kysely',
      () => new Kysely({ dialect: new PostgresDialect({ pool }) }),
      '{ transaction: (work) => db.transaction().execute(work), query: async',
      'postgresStore(pool)',
    ],
    ['a single Client of pg', () => new Client(), POOL_OF_PG, POOL_OF_PG],
    [
      'a knex',
      () => Object.assign(() => {}, { raw() {}, transaction() {}, client: {} }),
      '{ transaction: (work) => knex.transaction(work), query: async',
      POOL_OF_PG,
    ],
    [
      'a PGlite',
      () => ({ query() {}, exec() {}, transaction() {}, waitReady: null }),
      '{ transaction: (work) => db.transaction(work), query: async',
      'pass that as inbox',
    ],
    [
      'a Prisma client',
      () => ({ $transaction() {}, $queryRawUnsafe() {}, $connect() {} }),
      POOL_OF_PG,
      POOL_OF_PG,
    ],
  ])('refuses %s, and shows the lines that work', (what, object, inbox, store) => {
    const make = () => create(object() as never)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(`This is ${what}`)
    expect(make).toThrow(name === 'postgresInbox' ? inbox : store)
  })

  test.each<[unknown, string]>([
    ['', 'the empty name'],
    ['a b', 'a blank'],
    ['a"; DROP TABLE users; --', 'quotes and a statement'],
    ["a'", 'an apostrophe'],
    ['a.b.c', 'a database, a schema and a name'],
    ['a.', 'no name'],
    ['.a', 'no schema'],
    ['1a', 'a digit first'],
    ['täble', 'another letter'],
    ['a\n', 'a line break'],
    ['x'.repeat(49), 'too long a name'],
    [7, 'no string'],
    [['a'], 'a list'],
  ])('refuses the table %j: %s', (table) => {
    const make = () => create(pool as never, { table: table as string })
    expect(make).toThrow(TypeError)
    expect(make).toThrow(/table must be a name of 1 to 48 letters, digits and _/)
  })

  test('refuses an option that it does not have', () => {
    for (const client of [pool, sql]) {
      expect(() => create(client as never, { tabel: 'typo' })).toThrow(/tabel/)
      expect(() => create(client as never, { purgeEverySecond: 1 })).toThrow(/purgeEverySecond\b/)
    }
  })

  test('connects to nothing, and starts nothing, when it is made', () => {
    create(pool as never, { purgeEverySeconds: 1 } satisfies PostgresStoreOptions & PostgresInboxOptions)
    expect(pool.totalCount).toBe(0)
    expect(name).toMatch(/^postgres/)
  })
})

test.each([0, 0.5, -1, 86_401, Number.NaN, '60' as never])(
  'postgresInbox refuses an idleTimeoutSeconds of %s',
  (idleTimeoutSeconds) => {
    expect(() => postgresInbox(pool, { idleTimeoutSeconds })).toThrow(TypeError)
    expect(() => postgresInbox(pool, { idleTimeoutSeconds })).toThrow(
      /idleTimeoutSeconds must be a number of seconds from 1 to 86400/,
    )
  },
)

onPostgres.each(STORE_CLIENTS)('what a store over $name is called with', ({ open }) => {
  const database = testDatabase(schema)
  const GOOD = { key: 'k', token: 't', leaseMs: 60_000, retainMs: 60_000 }

  test.each<[string, object, RegExp]>([
    ['an empty key', { key: '' }, /key must be 1 to 255 characters long, and this one has 0/],
    ['a key with NUL', { key: 'a\0b' }, /key must be printable ASCII.*use a hash of it/],
    [
      'a key of 10 KB',
      { key: 'k'.repeat(10_240) },
      /key must be 1 to 255 characters long, and this one has 10240: use a hash of it/,
    ],
    ['a key that is not ASCII', { key: 'schlüssel' }, /key must be printable ASCII/],
    ['a key with a line break', { key: 'a\n' }, /key must be printable ASCII/],
    ['a key that is not a string', { key: 7 }, /key must be a string, not/],
    ['no key', { key: undefined }, /key must be a string, not undefined/],
    ['an empty token', { token: '' }, /token must be 1 to 64 characters long/],
    ['a long token', { token: 't'.repeat(65) }, /token must be 1 to 64 characters long, and this one has 65/],
    ['no lease', { leaseMs: 0 }, /leaseMs must be a number of milliseconds above 0.*, not 0/],
    ['a lease that is not a number', { leaseMs: '60' }, /leaseMs must be a number/],
    ['a lease that is NaN', { leaseMs: Number.NaN }, /leaseMs must be a number.*NaN/],
    ['a lease without end', { leaseMs: Number.POSITIVE_INFINITY }, /leaseMs must be a number.*Infinity/],
    ['a negative retention', { retainMs: -1 }, /retainMs must be a number of milliseconds above 0.*, not -1/],
  ])('is refused when it has %s', async (_, bad, message) => {
    const store = open(database).store()
    const request = { ...GOOD, ...bad }
    const calls: [string[], () => Promise<unknown>][] = [
      [['key', 'token', 'leaseMs', 'retainMs'], () => store.claim(request)],
      [['key', 'token', 'leaseMs'], () => store.renew(request, request.leaseMs)],
      [['key', 'token', 'retainMs'], () => store.complete(request, request.retainMs)],
      [['key', 'token'], () => store.release(request)],
    ]
    for (const [fields, call] of calls) {
      if (!fields.includes(Object.keys(bad)[0] ?? '')) continue
      const error: unknown = await call().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toMatch(message)
    }
    expect(await database.column('SELECT key FROM tix_webhooks')).toEqual([])
  })

  test('is hashed by the receiver where a key is not fit for a store', async () => {
    const keys = ['a\0b', 'k'.repeat(10_240), 'schlüssel', ' ', "'; DROP TABLE tix_webhooks; --"]
    const runs: unknown[] = []
    let key = ''
    const { send, reports } = await endpoint({
      store: open(database).store(),
      key: () => key,
      on: { 'order.created': (_event, ctx) => runs.push(ctx.key) },
    })
    for (key of keys) {
      expect(await send(orderCreated())).toEqual({ status: 200, outcome: 'handled' })
      expect(await send(orderCreated())).toEqual({ status: 200, outcome: 'duplicate' })
    }
    expect(new Set(await database.column('SELECT key FROM tix_webhooks'))).toEqual(new Set(runs))
    expect(runs).toHaveLength(keys.length)
    expect(reports).toEqual([])
    await database.query('TRUNCATE tix_webhooks')
  })
})

onPostgres('what an inbox is called with', () => {
  const database = testDatabase(schema)

  test.each<[string, { key: string | null; retainMs: number }, RegExp]>([
    ['a key with NUL', { key: 'a\0b', retainMs: 1 }, /key must be printable ASCII/],
    ['a key of 10 KB', { key: 'k'.repeat(10_240), retainMs: 1 }, /key must be 1 to 255 characters long/],
    ['an empty key', { key: '', retainMs: 1 }, /key must be 1 to 255 characters long/],
    ['no retention', { key: null, retainMs: 0 }, /retainMs must be a number/],
  ])('is refused when it has %s, and its work is not', async (_, request, message) => {
    let isCalled = false
    const once = postgresInbox(openPg(database)).once(request, async () => {
      isCalled = true
    })
    await expect(once).rejects.toThrow(TypeError)
    await expect(once).rejects.toThrow(message)
    expect(isCalled).toBe(false)
  })
})

test('as must be a function, and goes with a Pool of pg alone', () => {
  expect(() => postgresInbox(pool, { as: drizzle(pool) as never })).toThrow(/as must be a function/)
  const as = (): null => null
  expect(() => postgresInbox(sql as never, { as })).toThrow(/use it with a Pool of pg/)
  const driver = { transaction() {}, query() {} }
  expect(() => postgresInbox(driver as never, { as })).toThrow(/use it with a Pool of pg/)
})
