import { drizzle } from 'drizzle-orm/mysql2'
import knexOf from 'knex'
import { CompiledQuery, Kysely, MysqlDialect } from 'kysely'
import * as mariadb from 'mariadb'
import { createPool as createCallbackPool } from 'mariadb/callback'
import { createPool } from 'mysql2'
import mysql from 'mysql2/promise'
import { Sequelize } from 'sequelize'
import type { KeptFailures } from 'tix-webhooks'
import {
  ddl,
  type MysqlFailures,
  type MysqlInbox,
  type MysqlPool,
  type MysqlStore,
  mysqlFailures,
  mysqlInbox,
  mysqlStore,
} from 'tix-webhooks/mysql'
import { DataSource } from 'typeorm'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { snippetsFolder } from '../../../support/compile.js'
import { orderCreated } from '../../../support/deliveries.js'
import { createMariadb, createMysql2 } from '../../../support/mysql-clients.js'
import { testMysqlDatabase } from '../../../support/mysql-database.js'
import { onMysql } from '../../../support/on-servers.js'
import { endpoint } from '../../../support/postgres-endpoint.js'

const HANDLED = { status: 200, outcome: 'handled' }

/** An object that is refused, the names of what is around it in its app, and how a handler writes. */
interface Refused {
  readonly object: object
  readonly names?: Readonly<Record<string, unknown>>
  run?(tx: never, statement: string): Promise<unknown>
}

const unused = () => {}
const byQuery: Refused['run'] = (tx: { query(statement: string): Promise<unknown> }, statement) =>
  tx.query(statement)

/** Each is closed when the test ends. */
const OBJECTS: [what: string, make: (url: string) => Promise<Refused>][] = [
  [
    'a pool of mysql2 with callbacks',
    async (url) => {
      const pool = callbackPool(url)
      return { object: pool, names: { pool } }
    },
  ],
  [
    'a DataSource of TypeORM',
    async (url) => {
      const dataSource = await typeorm(url)
      return { object: dataSource, names: { dataSource } }
    },
  ],
  [
    'an EntityManager of TypeORM',
    async (url) => {
      const { manager } = await typeorm(url)
      return { object: manager, names: { manager } }
    },
  ],
  [
    'a Sequelize',
    async (url) => {
      const sequelize = new Sequelize(url, { logging: false })
      onTestFinished(() => sequelize.close())
      return {
        object: sequelize,
        names: { sequelize },
        run: (transaction, statement) => sequelize.query(statement, { transaction }),
      }
    },
  ],
  [
    'a knex',
    async (url) => {
      const knex = knexOf({ client: 'mysql2', connection: url })
      onTestFinished(() => knex.destroy())
      return {
        object: knex,
        names: { knex },
        run: async (trx, statement) => knex.raw(statement).transacting(trx),
      }
    },
  ],
  ['a Prisma client', async (url) => prismaLike(url)],
  [
    'a Drizzle database',
    async (url) => {
      const pool = createMysql2(url)
      onTestFinished(() => pool.end())
      return {
        object: drizzle({ client: pool }),
        names: { pool, drizzle },
        run: (tx: ReturnType<typeof drizzle>, statement) => tx.execute(statement),
      }
    },
  ],
  [
    'a Kysely',
    async (url) => {
      const db = new Kysely<Record<never, never>>({ dialect: new MysqlDialect({ pool: callbackPool(url) }) })
      return {
        object: db,
        names: { db, CompiledQuery, createPool },
        run: (tx: typeof db, statement) => tx.executeQuery(CompiledQuery.raw(statement)),
      }
    },
  ],
  [
    'a PlanetScale client over HTTP, where no transaction stays open',
    async () => ({ object: { execute: unused, transaction: unused, connection: unused, refresh: unused } }),
  ],
  [
    'a single connection, which cannot serve concurrent deliveries',
    async (url) => {
      const connection = await mysql.createConnection(url)
      onTestFinished(() => connection.end())
      return { object: connection }
    },
  ],
  [
    'a single connection, which cannot serve concurrent deliveries',
    async (url) => {
      const connection = await mariadb.createConnection(url.replace('mysql:', 'mariadb:'))
      onTestFinished(() => connection.end())
      return { object: connection }
    },
  ],
  [
    'a pool of the package mysql, or of mariadb/callback, which has no promises',
    async (url) => {
      const pool = createCallbackPool(url.replace('mysql:', 'mariadb:'))
      onTestFinished(() => new Promise((resolve) => void pool.end(() => resolve())))
      return { object: pool }
    },
  ],
  [
    'a pool of the package mysql, or of mariadb/callback, which has no promises',
    async () => ({ object: { getConnection: (_callback: unknown) => {}, query: unused, end: unused } }),
  ],
]

function callbackPool(url: string): ReturnType<typeof createPool> {
  const pool = createPool(url)
  onTestFinished(() => new Promise((resolve) => void pool.end(() => resolve())))
  return pool
}

async function typeorm(url: string): Promise<DataSource> {
  const dataSource = await new DataSource({ type: 'mysql', url }).initialize()
  onTestFinished(() => dataSource.destroy())
  return dataSource
}

/** The two methods of Prisma, whose client is generated by a program that it downloads. */
async function prismaLike(url: string): Promise<Refused> {
  const pool = createMariadb(url)
  onTestFinished(() => pool.end())
  const queryRaw = (connection: mariadb.Connection) => ({
    $queryRawUnsafe: (statement: string) => connection.query(statement),
  })
  const prisma = {
    ...queryRaw(pool as unknown as mariadb.Connection),
    async $transaction(work: (tx: unknown) => Promise<unknown>) {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        const result = await work(queryRaw(connection))
        await connection.commit()
        return result
      } catch (error) {
        await connection.rollback()
        throw error
      } finally {
        await connection.release()
      }
    },
  }
  return {
    object: prisma,
    names: { prisma },
    run: (tx: ReturnType<typeof queryRaw>, statement) => tx.$queryRawUnsafe(statement),
  }
}

const FACTORIES: Record<string, (pool: never, options?: object) => object> = {
  mysqlInbox,
  mysqlStore,
  mysqlFailures,
}

onMysql('an object of another library', () => {
  const database = testMysqlDatabase('CREATE TABLE effects (id TEXT)', ddl)

  beforeEach(async () => {
    vi.stubEnv('DATABASE_URL', database.url)
    for (const table of ['effects', 'tix_webhooks', 'tix_webhooks_inbox', 'tix_webhooks_failures']) {
      await database.query(`DELETE FROM ${table}`)
    }
    return () => void vi.unstubAllEnvs()
  })

  /** Refuses the object, and runs the line that the refusal shows, as it is. */
  async function runShown<Made>(name: string, { object, names = {} }: Refused) {
    const { message } = refusalOf(() => FACTORIES[name]?.(object as never))
    const [, line = ''] =
      /^This is .*?\. Instead: (?:import .*? and call )?(.*?)(?:, with (?:the|create|Prisma).*)?\.$/.exec(
        message,
      ) ?? []
    const [, imported] = /import (\w+) from 'mysql2\/promise'/.exec(message) ?? []
    let given: unknown
    const scope: Record<string, unknown> = {
      ...names,
      ...(imported === undefined ? {} : { [imported]: mysql }),
    }
    scope[name] = (pool: never, options?: object) => {
      given = pool
      return FACTORIES[name]?.(pool, options)
    }
    const { write, remove } = snippetsFolder()
    try {
      const { shown } = await import(
        /* @vite-ignore */ write(
          'shown',
          `export const shown = ({ ${Object.keys(scope).join(', ')} }) => ${line}`,
        )
      )
      const made: Made = shown(scope)
      const { end } = given as { end?(): Promise<unknown> }
      // That of the line itself.
      if (given !== object && !Object.values(names).includes(given))
        onTestFinished(async () => void (await end?.call(given)))
      return { made, given: given as MysqlPool, message }
    } finally {
      remove()
    }
  }

  describe.each(OBJECTS)('%s', (what, make) => {
    test('is refused by mysqlInbox, whose lines have an effect exactly once, or not at all', async () => {
      const refused = await make(database.url)
      const { made: inbox, given, message } = await runShown<MysqlInbox<never>>('mysqlInbox', refused)
      expect(message).toContain(`This is ${what}. Instead: `)
      await inbox.migrate()
      const failures = mysqlFailures(given)
      await failures.migrate()
      const run = refused.run ?? byQuery
      let isFailing = true
      const { send } = await endpoint<never>({
        inbox,
        failures,
        on: {
          'order.created': async (event, { tx }) => {
            await run?.(tx, `INSERT INTO effects VALUES ('${event.data.order.id}')`)
            if (isFailing) throw new Error('later')
          },
        },
      })
      const effects = () => database.column('SELECT id FROM effects')
      const order = orderCreated({ id: 'once' })
      expect((await send(order)).status).toBe(500)
      expect([await effects(), (await failures.list()).length]).toEqual([[], 1])
      isFailing = false
      expect(await send(order)).toEqual(HANDLED)
      expect((await send(order)).outcome).toBe('duplicate')
      expect([await effects(), await failures.list()]).toEqual([['once'], []])
      expect(await inbox.purge()).toBe(0)
    })

    test('is refused by mysqlFailures, whose lines keep what failed', async () => {
      const { made: failures } = await runShown<MysqlFailures & KeptFailures>(
        'mysqlFailures',
        await make(database.url),
      )
      await failures.migrate()
      await failures.check()
      expect(await failures.list()).toEqual([])
    })

    test('is refused by mysqlStore, whose lines handle an event once', async () => {
      const { made: store } = await runShown<MysqlStore>('mysqlStore', await make(database.url))
      await store.migrate()
      const { send } = await endpoint({ store, on: { 'order.created': () => {} } })
      const order = orderCreated()
      expect(await send(order)).toEqual(HANDLED)
      expect((await send(order)).outcome).toBe('duplicate')
    })
  })
})

function refusalOf(create: () => unknown): TypeError {
  try {
    create()
  } catch (error) {
    if (error instanceof TypeError) return error
  }
  throw new Error('It was not refused')
}
