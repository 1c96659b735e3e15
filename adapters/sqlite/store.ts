import type { Purgeable, RemoteStore } from '../../src/index.js'
import {
  checkClaim,
  checkComplete,
  checkedClock,
  checkedFor,
  checkOptionNames,
  checkRelease,
  checkRenew,
  createPurger,
} from '../../src/store-kit.js'
import type { SqliteDatabase } from './database.js'
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
  readonly schema: string
}

/**
 * Remembers handled events in a file, for the processes of one machine: it survives restarts, and needs no server. The file must not
 * be on a network file system. It does not forget by itself: see `purge` and `purgeEverySeconds`.
 *
 * @param db an open database of better-sqlite3, libsql or `node:sqlite`; it is switched to WAL and `synchronous = FULL`
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
    columns: {
      key: 'TEXT NOT NULL PRIMARY KEY',
      state: "TEXT NOT NULL CHECK (state IN ('running', 'completed', 'released'))",
      attempt: 'INTEGER NOT NULL',
      token: 'TEXT NOT NULL',
      lease_until: 'INTEGER NOT NULL',
      expires_at: 'INTEGER NOT NULL',
    },
    migrate: 'store.migrate()',
  })
  const sql = statementsFor(table.name)
  const now = checkedClock(options.now)
  const { start, purge } = createPurger(
    async (limit) => table.purge({ now: now(), limit }),
    options.purgeEverySeconds,
  )

  /** In a transaction: its COMMIT reports a failure, and no statement within it can meet a lock. */
  function change(statement: string, parameters: Record<string, string | number>): boolean {
    return table.transaction(() => table.run(statement, parameters)) === 1
  }

  // Each transaction is over before anything is awaited; `async` turns its errors into rejections.
  return {
    async claim(request) {
      checkClaim(request)
      start()
      const { key, token } = request
      const time = now()
      const leaseUntil = Math.ceil(time + request.leaseMs)
      const expiresAt = Math.ceil(time + request.retainMs)
      const { taken, found } = table.transaction(() => {
        const taken = table.get(sql.claim, { key, token, now: time, leaseUntil, expiresAt })
        return { taken, found: taken ?? table.get(sql.find, { key, now: time }) }
      })
      if (taken !== undefined) return { status: 'claimed', attempt: Number(taken.attempt) }
      if (found?.state === 'completed') return { status: 'completed' }
      const leftMs = found?.state === 'running' ? Number(found.lease_until) - time : 1
      return { status: 'in-flight', retryAfterMs: Math.max(leftMs, 1) }
    },

    async renew({ key, token }, leaseMs) {
      checkRenew({ key, token }, leaseMs)
      const time = now()
      return change(sql.renew, { key, token, now: time, leaseUntil: Math.ceil(time + leaseMs) })
    },

    async complete({ key, token }, retainMs) {
      checkComplete({ key, token }, retainMs)
      const time = now()
      return change(sql.complete, { key, token, now: time, expiresAt: Math.ceil(time + retainMs) })
    },

    async release({ key, token }) {
      checkRelease({ key, token })
      return change(sql.release, { key, token, now: now() })
    },

    purge,
    migrate: async () => table.migrate(),
    schema: table.schema,
  }
}

function statementsFor(table: string): Record<'claim' | 'find' | 'renew' | 'complete' | 'release', string> {
  const isHolders = 'key = @key AND token = @token AND expires_at > @now'
  return {
    // It writes only if it takes the record, so that a duplicate need not wait for the disk.
    claim: `
      INSERT INTO ${table} AS stored (key, state, attempt, token, lease_until, expires_at)
      VALUES (@key, 'running', 1, @token, @leaseUntil, @expiresAt)
      ON CONFLICT (key) DO UPDATE SET
        state = 'running',
        attempt = CASE
          WHEN stored.expires_at <= @now THEN 1
          WHEN stored.token = excluded.token THEN stored.attempt
          ELSE stored.attempt + 1
        END,
        token = excluded.token,
        lease_until = excluded.lease_until,
        expires_at = excluded.expires_at
      WHERE
        stored.expires_at <= @now
        OR stored.state = 'running' AND (stored.token = excluded.token OR stored.lease_until <= @now)
        OR stored.state = 'released' AND stored.token <> excluded.token
      RETURNING attempt`,
    find: `SELECT state, lease_until FROM ${table} WHERE key = @key AND expires_at > @now`,
    renew: `UPDATE ${table} SET lease_until = @leaseUntil WHERE ${isHolders} AND state = 'running'`,
    // An absent record is written: its event was handled.
    complete: `
      INSERT INTO ${table} AS stored (key, state, attempt, token, lease_until, expires_at)
      VALUES (@key, 'completed', 1, @token, @now, @expiresAt)
      ON CONFLICT (key) DO UPDATE SET
        state = 'completed', token = excluded.token, expires_at = excluded.expires_at
      WHERE
        stored.expires_at <= @now
        OR stored.token = excluded.token AND stored.state IN ('running', 'completed')`,
    release: `UPDATE ${table} SET state = 'released' WHERE ${isHolders} AND state IN ('running', 'released')`,
  }
}
