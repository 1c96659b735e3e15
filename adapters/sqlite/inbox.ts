import { Discard, type Inbox, type OnceResult, type Purgeable, StoreError } from '../../src/index.js'
import {
  checkedClock,
  checkedFor,
  checkOnce,
  checkOptionNames,
  createPurger,
  isDiscard,
} from '../../src/store-kit.js'
import { type SqliteDatabase, sqliteTable } from './table.js'

export interface SqliteInboxOptions {
  /** The name of its table. Default `tix_webhooks_inbox`. */
  table?: string | undefined
  /** Milliseconds since the epoch. Default `Date.now`: a wall clock, because the records must survive a restart. */
  now?: (() => number) | undefined
  /** Purges in the background, every so many seconds, from the first delivery on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
}

/** What handlers get as `ctx.tx`. */
export interface SqliteTransaction<Db> {
  /**
   * Runs `effects` in a transaction together with the record of the event, and commits both: call it once, at the handler's
   * end, after all that it awaits. `effects` must be synchronous: on one connection, what another request does while it
   * waited would be in the transaction too. A handler that never calls it has its event recorded alone. What comes after it
   * never runs again: the event is recorded, whatever the handler throws then. BEGIN, COMMIT and ROLLBACK are the inbox's, and so
   * is all that ends a transaction, such as INSERT OR ROLLBACK.
   *
   * @returns what `effects` returned
   * @throws what `effects` threw, after everything was rolled back; `Discard` when another delivery has committed the event
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
 * Effects exactly once, in a file: what a handler writes in `ctx.tx.commit` and the record that the event was handled are
 * committed together, or not at all. Two deliveries of one event may overlap; the effects of one of them are kept.
 *
 * @param db an open database of better-sqlite3, libsql or `node:sqlite`; it is switched to WAL and `synchronous = FULL`
 * @throws TypeError when it is something else, or an option makes no sense
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
    INSERT INTO ${table.name} AS held (key, handled_at, expires_at) VALUES (@key, @now, @expiresAt)
    ON CONFLICT (key) DO UPDATE SET handled_at = excluded.handled_at, expires_at = excluded.expires_at
    WHERE held.expires_at <= @now`
  const now = checkedClock(options.now)
  const { start, purge } = createPurger(
    async (limit) => table.purge({ now: now(), limit }),
    options.purgeEverySeconds,
  )

  /** The one transaction of one delivery. */
  function transactionFor(key: string | null, retainMs: number) {
    let end: 'failed' | 'duplicate' | 'committed' | undefined
    let isOver = false

    /** Commits the effects with the record, unless another delivery was first: then nothing of them is done. */
    function attempt<R>(effects: () => R): { result: R } | 'duplicate' {
      end = 'failed'
      const committed = table.transaction(() => {
        if (!isRecordedNow()) return 'duplicate'
        table.exec('SAVEPOINT tix_webhooks_effects')
        const result = effects()
        if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') {
          // Nobody else hears that it failed.
          Promise.resolve(result).then(undefined, () => {})
          throw new TypeError(
            'What ctx.tx.commit calls must be synchronous, and it returned a promise: await before the call, write in it.',
          )
        }
        // It is gone if the effects have ended the transaction: they would be kept without the record.
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
      attempt,
      /** The handler has ended, or is given up: nobody asks any more what a commit came to. */
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
        const committed = attempt(() => effects(db))
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
      if (transaction.end === 'failed' && !isDiscarded) throw swallowed()
      if (transaction.end === undefined || transaction.end === 'failed') transaction.attempt(() => {})
      if (transaction.end === 'duplicate') return 'duplicate'
      return isDiscarded ? 'discarded' : 'handled'
    },
    purge,
    migrate: async () => table.migrate(),
    schema: table.schema,
  }
}

function swallowed(): StoreError {
  return new StoreError(
    'store_unavailable',
    'ctx.tx.commit failed and the handler went on, so nothing that it wrote was kept: let such an error leave the handler.',
  )
}
