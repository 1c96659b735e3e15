import type { RemoteLedgerStore } from '../../src/index.js'
import { checkedFor, checkOptionNames } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { ledgerStore } from '../sql/ledger.js'
import { createPurger } from '../sql/purge.js'
import type { SqliteDatabase } from './database.js'
import { eventsTable, type SqliteOptions, type SqliteTableMethods } from './events.js'

export interface SqliteStoreOptions extends SqliteOptions {}

/** An idempotency store in a table, which also keeps the failures of events. */
export interface SqliteStore extends RemoteLedgerStore, SqliteTableMethods {
  check(): Promise<void>
}

/**
 * Remembers events in a file, for the processes of one machine, and keeps those that fail: it survives restarts, and needs no server. The file
 * must not be on a network file system.
 *
 * @param db an open database of better-sqlite3, libsql or `node:sqlite`; a file is kept in WAL and at least at `synchronous = FULL`
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * const store = sqliteStore(new Database('webhooks.db'))
 * await store.migrate() // when your app starts
 * tixWebhooks({ secret, on, store, namespace: 'orders' })
 * ```
 */
export function sqliteStore(db: SqliteDatabase, options: SqliteStoreOptions = {}): SqliteStore {
  return checkedFor(sqliteStore, () => createStore(db, options))
}

function createStore(db: SqliteDatabase, options: SqliteStoreOptions): SqliteStore {
  const given = checkOptionNames(options, ['table', 'now', 'purgeEverySeconds'])
  const { table, shared, purge: purgeEvents, check } = eventsTable(db, given, 'store.migrate()')
  const { purgeAfter, purge } = createPurger(purgeEvents, given.purgeEverySeconds)
  const store = ledgerStore(shared)
  return checkedStore<SqliteStore>({
    ...store,
    claim: (request) => purgeAfter(request.retainMs, () => store.claim(request)),
    check: async () => check(),
    purge,
    migrate: async () => table.migrate(),
    ddl: table.ddl,
  })
}
