import { Discard, type Inbox, type OnceResult, type Purgeable, StoreError } from '../../src/index.js'
import {
  checkedClock,
  checkedFor,
  checkOnce,
  checkOptionNames,
  createPurger,
  isDiscard,
} from '../../src/store-kit.js'
import type { SqliteDatabase } from './database.js'
import { sqliteTable } from './table.js'

export interface SqliteInboxOptions {
  /** The name of its table. Default `tix_webhooks_inbox`. */
  table?: string | undefined
  /** Milliseconds since the epoch. Default `Date.now`: a wall clock, because the records must survive a restart. */
  now?: (() => number) | undefined
  /** Purges in the background, every so many seconds, from the first delivery on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
}

/** The `ctx.tx` of handlers. */
export interface SqliteTransaction<Db> {
  /**
   * Runs `effects` in a transaction together with the record of the event, and commits both: call it once, at the handler's
   * end, after all that it awaits. `effects` must be synchronous: if it awaited, the statements of another request on the same
   * connection would be in the transaction too. If a handler never calls it, the record alone is committed. After the call the event
   * is recorded, and does not run again whatever the handler throws. Leave BEGIN, COMMIT and ROLLBACK to the inbox, and do not use
   * statements that end a transaction, such as INSERT OR ROLLBACK.
   *
   * @returns the result of `effects`
   * @throws the error of `effects`, after everything was rolled back; `Discard` when another delivery has committed the event
   */
  commit<R>(effects: (db: Db) => R extends PromiseLike<unknown> ? never : R): R
}

/** A transactional inbox. */
export interface SqliteInbox<Db> extends Inbox<SqliteTransaction<Db>>, Purgeable {
  /** Creates the table if it is missing. For the start of your app; several processes may run it at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly schema: string
}

/**
 * Effects exactly once, in a file: the handler's writes in `ctx.tx.commit` and the record that the event was handled are committed
 * together, or not at all. Two deliveries of one event may overlap; the effects of one of them are kept.
 *
 * @param db an open database of better-sqlite3, libsql or `node:sqlite`; it is switched to WAL and `synchronous = FULL`
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * const inbox = sqliteInbox(new Database('app.db'))
 * await inbox.migrate() // when your app starts
 * tixWebhooks({
 *   secret,
 *   inbox,
 *   namespace: 'orders',
 *   on: {
 *     'order.created': async (event, ctx) => {
 *       ctx.tx.commit((db) => db.prepare('INSERT INTO orders (id) VALUES (?)').run(event.data.order.id))
 *     },
 *   },
 * })
 * ```
 */
export function sqliteInbox<Db extends SqliteDatabase>(
  db: Db,
  options: SqliteInboxOptions = {},
): SqliteInbox<Db> {
  return checkedFor(sqliteInbox, () => createInbox(db, options))
}

function createInbox<Db extends SqliteDatabase>(db: Db, options: SqliteInboxOptions): SqliteInbox<Db> {
  options = checkOptionNames(options, ['table', 'now', 'purgeEverySeconds'])
  const table = sqliteTable(db, {
    table: options.table ?? 'tix_webhooks_inbox',
    columns: {
      key: 'TEXT NOT NULL PRIMARY KEY',
      handled_at: 'INTEGER NOT NULL',
      expires_at: 'INTEGER NOT NULL',
    },
    migrate: 'inbox.migrate()',
  })
  const find = `SELECT 1 AS found FROM ${table.name} WHERE key = @key AND expires_at > @now`
  const record = `
    INSERT INTO ${table.name} AS stored (key, handled_at, expires_at) VALUES (@key, @now, @expiresAt)
    ON CONFLICT (key) DO UPDATE SET handled_at = excluded.handled_at, expires_at = excluded.expires_at
    WHERE stored.expires_at <= @now`
  const now = checkedClock(options.now)
  const { start, purge } = createPurger(
    async (limit) => table.purge({ now: now(), limit }),
    options.purgeEverySeconds,
  )

  /** The one transaction of one delivery. */
  function transactionFor(key: string | null, retainMs: number) {
    let end: 'failed' | 'duplicate' | 'committed' | undefined
    let isOver = false

    /** Commits the effects with the record, unless another delivery was first: then they do not run. */
    function commitWith<R>(effects: () => R): { result: R } | 'duplicate' {
      end = 'failed'
      const committed = table.transaction(() => {
        if (!isRecordedNow()) return 'duplicate'
        table.exec('SAVEPOINT tix_webhooks_effects')
        const result = effects()
        if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') {
          // Its rejection would be unhandled.
          Promise.resolve(result).then(undefined, () => {})
          throw new TypeError(
            'What ctx.tx.commit calls must be synchronous, and it returned a promise: await before the call, write in it.',
          )
        }
        // It fails if the effects have ended the transaction: they would be kept without the record.
        table.exec('RELEASE tix_webhooks_effects')
        return { result }
      })
      end = committed === 'duplicate' ? 'duplicate' : 'committed'
      return committed
    }

    function isRecordedNow(): boolean {
      if (key === null) return true
      const time = now()
      return table.run(record, { key, now: time, expiresAt: Math.ceil(time + retainMs) }) === 1
    }

    return {
      get end() {
        return end
      },
      commitWith,
      /** To be called when the handler has ended, or is given up: a later commit would have no effect on the outcome. */
      close() {
        isOver = true
      },
      commit<R>(effects: (db: Db) => R): R {
        if (isOver) {
          throw new TypeError(
            'ctx.tx.commit was called after the run had ended: await what calls it, and stop when ctx.signal aborts (maxRunSeconds).',
          )
        }
        if (end === 'committed') {
          throw new TypeError('ctx.tx.commit was called twice: put all effects into one call.')
        }
        const committed = commitWith(() => effects(db))
        if (committed === 'duplicate') {
          throw new Discard(
            'Another delivery of the event was committed meanwhile, so nothing of this one is kept.',
          )
        }
        return committed.result
      },
    }
  }

  return {
    async once(request, work): Promise<OnceResult> {
      checkOnce(request)
      const { key, retainMs } = request
      start()
      if (key !== null && table.get(find, { key, now: now() }) !== undefined) return 'duplicate'

      const transaction = transactionFor(key, retainMs)
      let isDiscarded = false
      try {
        await work({ commit: transaction.commit as SqliteTransaction<Db>['commit'] })
      } catch (error) {
        if (transaction.end !== 'duplicate' && !isDiscard(error)) throw error
        isDiscarded = true
      } finally {
        transaction.close()
      }
      if (transaction.end === 'failed' && !isDiscarded) throw commitIgnored()
      if (transaction.end === undefined || transaction.end === 'failed') transaction.commitWith(() => {})
      if (transaction.end === 'duplicate') return 'duplicate'
      return isDiscarded ? 'discarded' : 'handled'
    },
    purge,
    migrate: async () => table.migrate(),
    schema: table.schema,
  }
}

function commitIgnored(): StoreError {
  return new StoreError(
    'store_unavailable',
    'ctx.tx.commit failed and the handler went on, so nothing that it wrote was kept: let such an error leave the handler.',
  )
}
