import { neon } from '@neondatabase/serverless'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { Kysely, PostgresDialect } from 'kysely'
import mysql from 'mysql2/promise'
import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { Sequelize } from 'sequelize'
import type { HandledRecords, Inbox, Purgeable } from 'tix-webhooks'
import { mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { DataSource } from 'typeorm'
import { describe, expect, test } from 'vitest'
import {
  notRefusedInputs,
  notRefusedLimits,
  notRefusedOnces,
  notRefusedRequests,
} from '../../support/invalid-inputs.js'

// None of them connects before it is used.
const pgPool = new Pool()
const mysqlPool = mysql.createPool('mysql://root@127.0.0.1:1/none')
/** An object with the shape of a database, which a factory must not call. */
const sqlite = {
  prepare: () => expect.fail('The factory prepared a statement.'),
  exec: () => expect.fail('The factory ran a statement.'),
}

/** Nothing has taken a connection. */
function expectUnused(): void {
  expect(pgPool.totalCount).toBe(0)
  const { _allConnections: all } = mysqlPool.pool as unknown as { _allConnections: { length: number } }
  expect(all.length).toBe(0)
}

/** The factories without types, because plain JavaScript may pass anything. */
type Factory = (pool: never, options?: object) => object

interface Row {
  readonly name: string
  readonly make: Factory
  readonly pool: unknown
  readonly isNoPool: string
  /** Values that resemble a pool. */
  readonly others: readonly unknown[]
  readonly tables: readonly unknown[]
  readonly options?: readonly (readonly [object, RegExp])[]
}

const POSTGRES = {
  pool: pgPool,
  isNoPool: 'pool must be a Pool of pg, or the sql of postgres.js, not ',
  others: [Pool, { connect() {}, query() {}, transaction() {} }, Promise.resolve(pgPool)],
  tables: ['a"; DROP TABLE users; --', 'a.b.c', 'a.', '.a'],
}
const MYSQL = {
  pool: mysqlPool,
  isNoPool: 'pool must be a pool of mysql2/promise or of mariadb, not ',
  others: [mysql.createPool, { getConnection() {} }, Promise.resolve(mysqlPool)],
  tables: ['a`; DROP TABLE users; --', 'a.b.c', 'a.', '.a', `${'d'.repeat(65)}.t`],
}
const SQLITE = {
  pool: sqlite,
  isNoPool: 'db must be an open database of better-sqlite3, libsql or node:sqlite, not ',
  others: [{ query: async () => ({ rows: [] }) }, async () => [], { prepare() {} }, { exec() {} }],
  tables: ['main.webhooks', 'x"; DROP TABLE orders; --', 'nul\0', { toString: () => 'webhooks' }],
  options: [
    [{ table: 'SQLite_Webhooks' }, /sqlite_/],
    [{ prefix: 'x' }, /prefix/],
    [{ now: 1 }, /^now must be a function/],
    [{ now: new Date(0) }, /^now must be a function/],
  ] as const,
}

const ROWS: readonly Row[] = [
  { name: 'postgresStore', make: postgresStore as Factory, ...POSTGRES },
  { name: 'postgresInbox', make: postgresInbox as Factory, ...POSTGRES },
  { name: 'postgresFailures', make: postgresFailures as Factory, ...POSTGRES },
  { name: 'mysqlStore', make: mysqlStore as Factory, ...MYSQL },
  { name: 'mysqlInbox', make: mysqlInbox as Factory, ...MYSQL },
  { name: 'mysqlFailures', make: mysqlFailures as Factory, ...MYSQL },
  { name: 'sqliteStore', make: sqliteStore as Factory, ...SQLITE },
  { name: 'sqliteInbox', make: sqliteInbox as Factory, ...SQLITE },
  { name: 'sqliteFailures', make: sqliteFailures as Factory, ...SQLITE },
]

describe.each(ROWS)('$name', ({ name, make, pool, isNoPool, others, tables, options = [] }) => {
  test('refuses anything but a pool, and names what it accepts', () => {
    const rows = [undefined, null, 'a://127.0.0.1/none', 7, {}, ...others].map((other): [unknown, string] => [
      other,
      isNoPool,
    ])
    expect(notRefusedInputs((other: never) => make(other), rows)).toEqual([])
  })

  test('refuses invalid names of tables, and options that it does not have', () => {
    const rows: [options: object, message: RegExp][] = [
      ...['', 'a b', "a'", '1a', 'täble', 'a\n', 'x'.repeat(49), 7, ['a'], ...tables].map(
        (table): [object, RegExp] => [{ table }, /^table must be a name of 1 to 48 letters, digits and _/],
      ),
      [{ tabel: 'typo' }, /tabel/],
      [{ purgeEverySecond: 1 }, /purgeEverySecond\b/],
      [{ purgeEverySeconds: 0 }, /^purgeEverySeconds must be .* above 0/],
      [{ purgeEverySeconds: 3_000_000 }, /^purgeEverySeconds .* at most/],
      [{ retentionSeconds: 86_400 }, /retentionSeconds/],
      ...options.map(([given, message]): [object, RegExp] => [given, message]),
    ]
    if (/(postgres|mysql)Inbox/.test(name)) {
      for (const idleTimeoutSeconds of [0, 0.5, -1, 86_401, Number.NaN, '60']) {
        rows.push([{ idleTimeoutSeconds }, /^idleTimeoutSeconds must be a number of seconds from 1 to 86400/])
      }
      for (const idleTimeoutSeconds of [1, 86_400]) make(pool as never, { idleTimeoutSeconds })
    }
    expect(notRefusedInputs((given: object) => make(pool as never, given), rows)).toEqual([])
  })

  test('connects to nothing, and starts nothing, when it is made', () => {
    expect(make(pool as never, { table: 'a'.repeat(48), purgeEverySeconds: 1 })).toHaveProperty('migrate')
    expectUnused()
  })
})

test.each([
  ['Postgres', postgresStore(pgPool), postgresInbox(pgPool)],
  ['MySQL', mysqlStore(mysqlPool), mysqlInbox(mysqlPool)],
  ['SQLite', sqliteStore(sqlite), sqliteInbox(sqlite)],
])(
  'a call over %s that the contract does not allow is refused before it reaches the database',
  async (_, store, given) => {
    const inbox = given as unknown as Inbox<unknown> & HandledRecords & Purgeable
    expect(await notRefusedRequests(store)).toEqual([])
    expect(await notRefusedOnces(inbox)).toEqual([])
    expect([await notRefusedLimits(store), await notRefusedLimits(inbox)]).toEqual([[], []])
    expectUnused()
  },
)

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
    [
      'a Drizzle database',
      () => drizzle(pgPool),
      '{ as: (client) => drizzle(client) }',
      'postgresStore(pool)',
    ],
    [
      'a Drizzle database',
      () => drizzlePostgresJs(sql),
      '{ as: (client) => drizzle(client) }',
      'postgresStore(pool)',
    ],
    [
      'a Kysely',
      () => new Kysely({ dialect: new PostgresDialect({ pool: pgPool }) }),
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

test('as must be a function, and goes with a pool alone', () => {
  const as = (): null => null
  const driver = { transaction() {}, query() {} } as never
  expect(() => postgresInbox(pgPool, { as: drizzle(pgPool) as never })).toThrow(/as must be a function/)
  for (const client of [sql as never, driver]) {
    expect(() => postgresInbox(client, { as })).toThrow(/use it with a Pool of pg/)
  }
  expect(() => mysqlInbox(mysqlPool, { as: {} as never })).toThrow(/as must be a function/)
  expect(() => mysqlInbox(driver, { as })).toThrow(/use it with one of mysql2 or mariadb/)
})
