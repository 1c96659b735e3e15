import type { Purgeable, RemoteLedgerStore } from '../../src/index.js'
import { checkedFor, checkOptionNames } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { type LedgerTable, ledgerStore } from '../sql/ledger.js'
import { DEFAULT_TABLE, type SqlStoreOptions } from '../sql/options.js'
import { createPurger } from '../sql/purge.js'
import { checkColumns, eventsDdl, FIND_COLUMNS, type FoundColumn } from '../sql/sqlite-dialect/ddl.js'
import { HOSTED, type Statement, statementsFor } from '../sql/sqlite-dialect/statements.js'
import {
  CHECK_VALUES,
  foundIn,
  parametersOf,
  purgedIn,
  type Rows,
  rowsIn,
  verdictAfter,
} from '../sql/sqlite-dialect/table.js'
import type { Values } from '../sql/statement.js'
import { unavailable } from './advice.js'
import { checkDatabase, type D1Database, type D1Statement } from './database.js'

export interface D1StoreOptions extends Pick<SqlStoreOptions, 'purgeEverySeconds'> {
  /** The name of its table. Default `tix_webhooks_events`. */
  table?: string | undefined
}

/** An idempotency store in a table of D1, which also keeps the failures of events. */
export interface D1Store extends RemoteLedgerStore, Purgeable {
  check(): Promise<void>
  /** Creates what is missing of the table. Workers have no start: call it once, or apply `ddl` as a migration. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for a migration of wrangler or for `env.DB.exec`: one statement a line. */
  readonly ddl: string
}

/**
 * Remembers events in Cloudflare D1, for all isolates of a Worker, and keeps those that fail: one round trip for each call of a delivery. It uses
 * the clock of the database.
 *
 * @param db a D1 binding, or a session of one; it may be kept for many requests
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * tixWebhooks({ secret, on, store: d1Store(env.DB), namespace: 'orders' })
 * ```
 */
export function d1Store(db: D1Database, options: D1StoreOptions = {}): D1Store {
  return checkedFor(d1Store, () => createStore(db, options))
}

function createStore(db: D1Database, options: D1StoreOptions): D1Store {
  const given = checkOptionNames(options, ['table', 'purgeEverySeconds'])
  checkDatabase(db)
  const ddl = eventsDdl(given.table ?? DEFAULT_TABLE)
  const { name, plainName, createTable, createIndexes } = ddl
  const sql = statementsFor(name, HOSTED)
  const findColumns = { text: FIND_COLUMNS, names: ['table'] }

  function bound(statement: Statement, values: Values): D1Statement {
    return db.prepare(statement.text).bind(...parametersOf(statement, values))
  }

  /** In one round trip and one transaction. */
  async function batch(...statements: D1Statement[]): Promise<readonly Rows[]> {
    try {
      return (await db.batch(statements as never[])).map(({ results }) => results)
    } catch (cause) {
      throw unavailable(cause)
    }
  }

  async function all(statement: Statement, values: Values): Promise<Rows> {
    const [rows = []] = await batch(bound(statement, values))
    return rows
  }

  const table: LedgerTable = {
    async upsert(write, values) {
      const [written = [], found = []] = await batch(
        bound(sql.upserts[write], values),
        bound(sql.find, values),
      )
      return verdictAfter(name, values, written, found)
    },
    update: async (write, values) => (await all(sql.updates[write], values)).length > 0,
    find: async (key) => foundIn(await all(sql.find, { key, token: '' })),
    forget: async (key) => (await all(sql.forget, { key })).length > 0,
    read: async (read) => rowsIn(await all(sql.read(read), read.values), read),
  }
  const { purgeAfter, purge } = createPurger(
    async (limit, minAgeMs) => purgedIn(await all(sql.purge, { limit, age_ms: minAgeMs })),
    given.purgeEverySeconds,
  )
  const store = ledgerStore(table)

  return checkedStore<D1Store>({
    ...store,
    claim: (request) => purgeAfter(request.retainMs, () => store.claim(request)),
    async check() {
      checkColumns((await all(findColumns, { table: plainName })) as FoundColumn[], ddl)
      await batch(bound(sql.upserts.claim, CHECK_VALUES), bound(sql.forget, CHECK_VALUES))
    },
    purge,
    async migrate() {
      const [, found] = await batch(db.prepare(createTable), bound(findColumns, { table: plainName }))
      checkColumns(found as FoundColumn[], ddl)
      await batch(...createIndexes.map((text) => db.prepare(text)))
    },
    // The `exec` of D1 takes each line for a statement.
    ddl: [createTable, ...createIndexes].map((text) => `${text.replaceAll(/\s+/g, ' ').trim()}\n`).join(''),
  })
}
