import { checkedFor, checkOptionNames } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { inBursts } from '../sql/calls.js'
import { ledgerStore } from '../sql/ledger.js'
import { DEFAULT_TABLE, type SqlStore, type SqlStoreOptions } from '../sql/options.js'
import { createPurger } from '../sql/purge.js'
import { isForbidden, isOfOneRow } from './advice.js'
import { retryConflicts } from './conflicts.js'
import { checkAutocommit, databaseOf } from './database.js'
import { poolOf } from './drivers/choose.js'
import type { MysqlPool } from './drivers/connection.js'
import type { Ask } from './drivers/driver.js'
import { eventsTable, ledgerTable } from './ledger.js'
import { locksTable } from './locks.js'

export interface MysqlStoreOptions extends SqlStoreOptions {
  /**
   * Whether an inbox is at work on the same table, as while an app changes from one to the other. A call of the store then never waits for its
   * transactions, and claims and completions are sent one by one. Default false.
   */
  besideInbox?: boolean | undefined
}

/** An idempotency store in a table, which also keeps the failures of events. */
export interface MysqlStore extends SqlStore {}

/**
 * Remembers handled events, and keeps failed ones, in a table of MySQL 8.0, MariaDB 10.6 or newer, for all processes that share it, by the
 * clock of the server.
 *
 * @param pool a pool of `mysql2/promise` or of `mariadb`
 * @throws TypeError when it is something else, such as a single connection, or an option is invalid
 * @example
 * ```ts
 * const store = mysqlStore(mysql.createPool(process.env.DATABASE_URL))
 * await store.migrate() // when you deploy
 * tixWebhooks({ secret, on, store, namespace: 'orders' })
 * ```
 */
export function mysqlStore(pool: MysqlPool, options: MysqlStoreOptions = {}): MysqlStore {
  return checkedFor(mysqlStore, () => createStore(pool, options))
}

const MIGRATE = 'store.migrate()'

function createStore(pool: MysqlPool, options: MysqlStoreOptions): MysqlStore {
  const {
    table = DEFAULT_TABLE,
    purgeEverySeconds,
    besideInbox = false,
  } = checkOptionNames(options, ['table', 'purgeEverySeconds', 'besideInbox'])
  if (typeof besideInbox !== 'boolean') throw new TypeError('besideInbox must be true or false.')
  const driver = poolOf(pool)
  const database = databaseOf(pool)
  const events = eventsTable(database, table, MIGRATE)
  const locks = besideInbox ? locksTable(database, table, MIGRATE) : undefined
  let isChecked = false

  const ask: Ask = (sql) => retryConflicts(() => (driver.ask as Ask)(sql))

  async function ready(): Promise<void> {
    if (isChecked) return
    await checkAutocommit(ask)
    await database.find(ask)
    isChecked = true
  }

  async function write(statement: string): Promise<number> {
    return Number((await ask(statement)).written?.id)
  }

  const ledger = ledgerTable({ driver, events, locks, ready, write })
  const { purgeAfter, purge } = createPurger(
    (limit, minAgeMs) => ledger.purge(limit, minAgeMs),
    purgeEverySeconds,
  )
  const store = ledgerStore(inBursts(ledger, (error) => isOfOneRow((error as Error).cause)))

  return checkedStore<MysqlStore>({
    ...store,
    claim: (request) => purgeAfter(request.retainMs, () => store.claim(request)),
    check: () => ledger.check(),
    purge,
    async migrate() {
      await events.migrate(driver)
      await locks?.migrate(driver)
      // The user of a migration may not have the rights of the app's.
      await ledger.check().catch((error) => {
        if (!isForbidden(error)) throw error
      })
    },
    ddl: [events.ddl, ...(locks === undefined ? [] : [locks.ddl])].join('\n'),
  })
}
