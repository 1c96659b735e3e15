import { checkedFor } from '../../src/internal.js'
import { type InboxBackend, sqlInbox } from '../sql/inbox.js'
import {
  checkInboxOptions,
  type SqlInbox,
  type SqlInboxAsOptions,
  type SqlInboxOptions,
} from '../sql/options.js'
import { sharedConnections } from '../sql/shared-connections.js'
import { isForbidden } from './advice.js'
import { retryConflicts } from './conflicts.js'
import { databaseOf } from './database.js'
import { driverOf, type TransactionOf } from './drivers/choose.js'
import type { MysqlPool } from './drivers/connection.js'
import type { Ask, MysqlDriver } from './drivers/driver.js'
import { limitOf } from './drivers/pool.js'
import { eventsTable, ledgerTable, RESET_REGISTER, registerAfter } from './ledger.js'
import { locksTable } from './locks.js'
import { newestTable } from './newest.js'
import { runnerOf } from './run.js'

export interface MysqlInboxOptions extends SqlInboxOptions {}

/** Options for a pool whose handlers get another object than its connection. */
export interface MysqlInboxAsOptions<Connection, Tx> extends SqlInboxAsOptions<Connection, Tx> {}

/** A transactional inbox, which also keeps the failures of events. */
export interface MysqlInbox<Tx> extends SqlInbox<Tx> {}

/**
 * Effects exactly once: handlers get `ctx.tx`, a transaction of your database. Their writes through it are committed together with
 * the record that the event was handled, or not at all. A process that dies at any moment changes nothing.
 *
 * A handler holds a connection while it runs. So there are as many runs at the same time as the pool has connections, but one, which is left
 * to the rest of your app: see the option `concurrency`. An effect outside of the database,
 * such as an e-mail, belongs into a row that is sent after the commit.
 *
 * @param pool a pool of `mysql2/promise` or of `mariadb`, or a driver for another library
 * @throws TypeError when it is something else, such as a `DataSource` of TypeORM, or an option is invalid
 * @example
 * ```ts
 * const inbox = mysqlInbox(mysql.createPool(process.env.DATABASE_URL))
 * await inbox.migrate() // when you deploy
 * tixWebhooks({
 *   secret,
 *   inbox,
 *   namespace: 'orders',
 *   on: {
 *     'order.created': async (event, ctx) => {
 *       await ctx.tx.query('INSERT INTO orders (id, buyer) VALUES (?, ?)', [event.data.order.id, event.data.order.buyer.email])
 *     },
 *   },
 * })
 * ```
 */
export function mysqlInbox<Pool extends MysqlPool, Tx>(
  pool: Pool,
  options: MysqlInboxAsOptions<TransactionOf<Pool>, Tx>,
): MysqlInbox<Tx>
export function mysqlInbox<Pool extends MysqlPool>(
  pool: Pool,
  options?: MysqlInboxOptions,
): MysqlInbox<TransactionOf<Pool>>
export function mysqlInbox<Tx>(driver: MysqlDriver<Tx>, options?: MysqlInboxOptions): MysqlInbox<Tx>
export function mysqlInbox<Tx>(
  pool: MysqlPool | MysqlDriver<Tx>,
  options: MysqlInboxOptions & { as?(connection: never): Tx } = {},
): MysqlInbox<Tx> {
  return checkedFor(mysqlInbox, () => {
    const { idleMs, ...checked } = checkInboxOptions(options)
    return sqlInbox(backendOf(pool, checked, idleMs), checked)
  })
}

const MIGRATE = 'inbox.migrate()'

function backendOf<Tx>(
  pool: MysqlPool | MysqlDriver<Tx>,
  { table, as }: Pick<ReturnType<typeof checkInboxOptions>, 'table' | 'as'>,
  idleMs: number,
): InboxBackend<Tx> {
  const driver = driverOf<Tx>(pool, as as (connection: never) => Tx)
  const database = databaseOf(pool)
  const events = eventsTable(database, table, MIGRATE)
  const locks = locksTable(database, table, MIGRATE)
  const newest = newestTable(database, table, MIGRATE, driver)
  let isReady = false

  async function ready(): Promise<void> {
    if (!isReady) await driver.reading((ask) => database.find(ask))
    isReady = true
  }

  /** In a transaction: the connections of the app may have autocommit off. */
  function write(statement: string): Promise<number> {
    return retryConflicts(() =>
      driver.transaction(async (tx) => {
        const ask: Ask = (sql) => driver.query(tx, sql)
        if (driver.ask === undefined) await ask(RESET_REGISTER)
        return registerAfter(ask, statement)
      }),
    )
  }

  const ledger = ledgerTable({ driver, events, locks, idleMs, ready, write })
  return {
    table: { ...ledger, upsert: async (name, values) => (await ledger.upsert(name, [values]))[0] },
    transact: runnerOf({ database, driver, ledger, events, locks, idleMs }),
    newest,
    purge: (limit, minAgeMs) => ledger.purge(limit, minAgeMs),
    check: () => ledger.check(),
    async migrate() {
      for (const one of [events, locks, newest]) await one.migrate(driver)
      // The user of a migration may not have the rights of the app's.
      await ledger.check().catch((error) => {
        if (!isForbidden(error)) throw error
      })
    },
    ddl: [events.ddl, locks.ddl, newest.ddl].join('\n'),
    connections: sharedConnections(pool, limitOf(pool)),
    hint: () => driver.hint?.(),
  }
}
