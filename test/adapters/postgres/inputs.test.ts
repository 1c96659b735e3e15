import { neon } from '@neondatabase/serverless'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { Kysely, PostgresDialect } from 'kysely'
import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { Sequelize } from 'sequelize'
import {
  ddl,
  type PostgresInboxOptions,
  type PostgresStoreOptions,
  postgresFailures,
  postgresInbox,
  postgresStore,
} from 'tix-webhooks/postgres'
import { DataSource } from 'typeorm'
import { describe, expect, test } from 'vitest'
import {
  notRefusedInputs,
  notRefusedLimits,
  notRefusedOnces,
  notRefusedRequests,
} from '../../support/invalid-inputs.js'
import { onPostgres } from '../../support/on-servers.js'
import { openPg, STORE_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'

// None of them connects before it is used.
const pool = new Pool()
const sql = postgres('postgres://127.0.0.1:1/none')

/** They take what an inbox takes, but without `as`. */
const forFailures = (inbox: string): string =>
  inbox === '{ as: (client) => drizzle(client) }' ? 'Instead: postgresFailures(pool), with the Pool' : inbox

describe.each([
  ['postgresStore', postgresStore as (client: never, options?: object) => unknown],
  ['postgresInbox', postgresInbox as (client: never, options?: object) => unknown],
  ['postgresFailures', postgresFailures as (client: never, options?: object) => unknown],
])('%s', (name, create) => {
  test('refuses anything but a pool, and names what it accepts', () => {
    const told = (type: string): string =>
      `pool must be a Pool of pg, or the sql of postgres.js, not ${type} `
    const rows: [client: unknown, message: string][] = [
      [undefined, told('undefined')],
      [null, told('null')],
      ['postgres://127.0.0.1/none', told('a string')],
      [Pool, told('a function')],
      [{}, told('an object')],
      [{ connect() {}, query() {}, transaction() {} }, told('an object')],
      [Promise.resolve(pool), told('a promise')],
    ]
    expect(notRefusedInputs((client: never) => create(client), rows)).toEqual([])
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
      '{ transaction: (work) => prisma.$transaction(work, {',
      POOL_OF_PG,
    ],
  ])('refuses %s, and shows the lines that work', (what, object, inbox, store) => {
    const make = () => create(object() as never)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(`This is ${what}`)
    // Failures hand no transaction to a handler.
    const lines = { postgresStore: store, postgresInbox: inbox, postgresFailures: forFailures(inbox) }[name]
    expect(make).toThrow(lines)
  })

  test('refuses invalid names of tables, and options that it does not have', () => {
    const tables = ['', 'a b', 'a"; DROP TABLE users; --', "a'", 'a.b.c', 'a.', '.a', '1a', 'täble', 'a\n']
    const rows: [options: object, message: RegExp][] = [
      ...[...tables, 'x'.repeat(49), 7, ['a']].map((table): [object, RegExp] => [
        { table },
        /^table must be a name of 1 to 48 letters, digits and _/,
      ]),
      [{ tabel: 'typo' }, /tabel/],
      [{ purgeEverySecond: 1 }, /purgeEverySecond\b/],
      [{ purgeEverySeconds: 0 }, /^purgeEverySeconds must be .* above 0/],
      [{ retentionSeconds: 86_400 }, /retentionSeconds/],
    ]
    for (const client of [pool, sql]) {
      expect(notRefusedInputs((options: object) => create(client as never, options), rows)).toEqual([])
    }
  })

  test('connects to nothing, and starts nothing, when it is made', () => {
    create(pool as never, { purgeEverySeconds: 1 } satisfies PostgresStoreOptions & PostgresInboxOptions)
    expect(pool.totalCount).toBe(0)
    expect(name).toMatch(/^postgres/)
  })
})

test('postgresInbox refuses an idleTimeoutSeconds that is not from 1 to 86400', () => {
  const rows = [0, 0.5, -1, 86_401, Number.NaN, '60'].map((idleTimeoutSeconds): [unknown, RegExp] => [
    { idleTimeoutSeconds },
    /^idleTimeoutSeconds must be a number of seconds from 1 to 86400/,
  ])
  expect(notRefusedInputs((options: PostgresInboxOptions) => postgresInbox(pool, options), rows)).toEqual([])
  for (const idleTimeoutSeconds of [1, 86_400]) {
    expect(() => postgresInbox(pool, { idleTimeoutSeconds })).not.toThrow()
  }
})

onPostgres.each(STORE_CLIENTS)('a store over $name', ({ open }) => {
  const database = testDatabase(ddl)

  test('refuses requests that the contract does not allow, and writes nothing', async () => {
    const store = open(database).store()
    expect(await notRefusedRequests(store)).toEqual([])
    expect(await notRefusedLimits(store)).toEqual([])
    expect(await database.column('SELECT key FROM tix_webhooks')).toEqual([])
  })
})

onPostgres('an inbox', () => {
  const database = testDatabase(ddl)

  test('refuses requests that the contract does not allow, and runs nothing', async () => {
    const inbox = postgresInbox(openPg(database))
    expect(await notRefusedOnces(inbox)).toEqual([])
    expect(await notRefusedLimits(inbox)).toEqual([])
    expect(await database.column('SELECT key FROM tix_webhooks_inbox')).toEqual([])
  })
})

test('as must be a function, and goes with a Pool of pg alone', () => {
  expect(() => postgresInbox(pool, { as: drizzle(pool) as never })).toThrow(/as must be a function/)
  const as = (): null => null
  expect(() => postgresInbox(sql as never, { as })).toThrow(/use it with a Pool of pg/)
  const driver = { transaction() {}, query() {} }
  expect(() => postgresInbox(driver as never, { as })).toThrow(/use it with a Pool of pg/)
})
