import { neon } from '@neondatabase/serverless'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { Kysely, PostgresDialect } from 'kysely'
import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { Sequelize } from 'sequelize'
import { postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { DataSource } from 'typeorm'
import { describe, expect, test } from 'vitest'

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
})

test('as must be a function, and goes with a Pool of pg alone', () => {
  expect(() => postgresInbox(pool, { as: drizzle(pool) as never })).toThrow(/as must be a function/)
  const as = (): null => null
  expect(() => postgresInbox(sql as never, { as })).toThrow(/use it with a Pool of pg/)
  const driver = { transaction() {}, query() {} }
  expect(() => postgresInbox(driver as never, { as })).toThrow(/use it with a Pool of pg/)
})
