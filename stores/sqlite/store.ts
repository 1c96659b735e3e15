import type { ClaimRequest, Purgeable, RemoteStore } from '../../src/index.js'
import { checkedClock, checkedFor, checkOptionNames } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { createPurger } from '../sql/purge.js'
import { STORE_COLUMNS, statementsFor } from '../sql/sqlite-dialect/statements.js'
import { notWritten } from './advice.js'
import type { SqliteDatabase } from './database.js'
import { sharedCommits } from './shared-commits.js'
import { sqliteTable } from './table.js'

export interface SqliteStoreOptions {
  /** The name of its table. Default `tix_webhooks`. */
  table?: string | undefined
  /** Milliseconds since the epoch. Default `Date.now`: a wall clock, because the records must survive a restart. */
  now?: (() => number) | undefined
  /** Purges in the background, every so many seconds, from the first claim on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
}

/** An idempotency store in a table. */
export interface SqliteStore extends RemoteStore, Purgeable {
  /** Creates the table if it is missing. For the start of your app; several processes may run it at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

/**
 * Remembers handled events in a file, for the processes of one machine: it survives restarts, and needs no server. The file must not
 * be on a network file system. It does not forget by itself: see `purge` and `purgeEverySeconds`.
 *
 * @param db an open database of better-sqlite3, libsql or `node:sqlite`; a file is kept in WAL and at least at `synchronous = FULL`
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * const store = sqliteStore(new Database('webhooks.db'), { purgeEverySeconds: 300 })
 * await store.migrate() // when your app starts
 * tixWebhooks({ secret, on, store, namespace: 'orders' })
 * ```
 */
export function sqliteStore(db: SqliteDatabase, options: SqliteStoreOptions = {}): SqliteStore {
  return checkedFor(sqliteStore, () => createStore(db, options))
}

function createStore(db: SqliteDatabase, options: SqliteStoreOptions): SqliteStore {
  options = checkOptionNames(options, ['table', 'now', 'purgeEverySeconds'])
  const table = sqliteTable(db, {
    table: options.table ?? 'tix_webhooks',
    columns: STORE_COLUMNS,
    migrate: 'store.migrate()',
  })
  const sql = statementsFor(table.name)
  const now = checkedClock(options.now)
  const { start, purge } = createPurger(
    async (limit) => table.purge({ now: now(), limit }),
    options.purgeEverySeconds,
  )

  const inTransaction = sharedCommits(table)

  async function change(statement: string, parameters: Record<string, string | number>): Promise<boolean> {
    return (await inTransaction(() => table.run(statement, parameters))) === 1
  }

  function take({ key, token, leaseMs, retainMs }: ClaimRequest, time: number) {
    const leaseUntil = Math.ceil(time + leaseMs)
    const expiresAt = Math.ceil(time + retainMs)
    const taken = table.get(sql.claim, { key, token, now: time, leaseUntil, expiresAt })
    const found = taken ?? table.get(sql.find, { key, now: time })
    if (found === undefined) throw notWritten(table.name)
    return { taken, found }
  }

  return checkedStore<SqliteStore>({
    async claim(request) {
      start()
      const time = now()
      const { taken, found } = await inTransaction(() => take(request, time))
      if (taken !== undefined) return { status: 'claimed', attempt: Number(taken.attempt) }
      if (found.state === 'completed') return { status: 'completed' }
      const leftMs = found.state === 'running' ? Number(found.lease_until) - time : 1
      return { status: 'in_flight', retryAfterMs: Math.max(leftMs, 1) }
    },

    async renew({ key, token }, leaseMs) {
      const time = now()
      return change(sql.renew, { key, token, now: time, leaseUntil: Math.ceil(time + leaseMs) })
    },

    async complete({ key, token }, retainMs) {
      const time = now()
      return change(sql.complete, { key, token, now: time, expiresAt: Math.ceil(time + retainMs) })
    },

    async release({ key, token }) {
      return change(sql.release, { key, token, now: now() })
    },

    isHandled: async (key) => table.get(sql.find, { key, now: now() })?.state === 'completed',
    check: async () => table.check((key) => take({ key, token: '', leaseMs: 0, retainMs: 0 }, now())),
    purge,
    migrate: async () => table.migrate(),
    ddl: table.ddl,
  })
}
