import { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { neon } from '@neondatabase/serverless'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import { createPool } from 'mysql2'
import mysql from 'mysql2/promise'
import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { Sequelize } from 'sequelize'
import type { HandledRecords, Inbox, Purgeable } from 'tix-webhooks'
import { mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
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
  { name: 'mysqlStore', make: mysqlStore as Factory, ...MYSQL },
  { name: 'mysqlInbox', make: mysqlInbox as Factory, ...MYSQL },
  { name: 'sqliteStore', make: sqliteStore as Factory, ...SQLITE },
  { name: 'sqliteInbox', make: sqliteInbox as Factory, ...SQLITE },
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
const methods = (...names: string[]) => Object.fromEntries(names.map((name) => [name, () => {}]))

// The objects themselves, made as their documentation does; of what is not installed here, the methods that it has.
test.each<[what: string, object: object, instead: string | undefined]>([
  ['a DataSource of TypeORM', new DataSource({ type: 'postgres' }), 'fromTypeOrm(dataSource)'],
  ['its EntityManager', new DataSource({ type: 'mysql' }).manager, 'fromTypeOrm(dataSource)'],
  ['a Sequelize', new Sequelize({ dialect: 'postgres' }), 'fromSequelize(sequelize)'],
  ['a Kysely', new Kysely({ dialect: new PostgresDialect({ pool: pgPool }) }), 'fromKysely(db, pool)'],
  ['a knex', knex({ client: 'pg' }), 'fromKnex(knex)'],
  ['a MikroORM', MikroORM.prototype, 'fromMikroOrm(orm)'],
  ['its EntityManager', EntityManager.prototype, 'fromMikroOrm(orm)'],
  ['a Prisma client', methods('$transaction', '$queryRawUnsafe', '$connect'), 'fromPrisma(prisma)'],
  ['a Drizzle database', drizzle(pgPool), 'a pool and { as: (client) => drizzle(client) }'],
  ['one on postgres.js', drizzlePostgresJs(sql), 'a pool and { as: (client) => drizzle(client) }'],
  ['a pool of mysql2 with callbacks', createPool('mysql://root@127.0.0.1:1/none'), 'pool.promise()'],
  ['a PGlite', methods('query', 'exec', 'transaction'), 'a driver, { transaction, query },'],
  ['the HTTP function of Neon', neon('postgresql://u:p@h.neon.tech/db'), undefined],
  ['a single Client of pg', new Client(), undefined],
  ['a single connection of MySQL', methods('beginTransaction', 'query'), undefined],
  ['a pool with callbacks', { ...methods('query', 'end'), getConnection: (_: unknown) => {} }, undefined],
])('%s is no pool, and the refusal names what to pass', (_, object, instead) => {
  const advice = instead === undefined ? 'For other libraries' : `Pass ${instead} to an inbox. For other`
  for (const make of [postgresStore, postgresInbox, mysqlStore, mysqlInbox] as Factory[]) {
    expect(() => make(object as never)).toThrow(TypeError)
    expect(() => make(object as never)).toThrow(`without their methods. ${advice}`)
  }
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
