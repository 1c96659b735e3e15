import { Discard } from '../../src/index.js'
import { notWritten } from './advice.js'
import type { SqliteTable } from './table.js'

interface DeliveryRecord {
  readonly key: string | null
  readonly retainMs: number
  readonly now: () => number
  /** Removes the failure of the event, if it may have one. */
  readonly forget?: (() => void) | undefined
}

/** The one transaction of one delivery: the effects of its handler and the record of the event. */
export class DeliveryTransaction<Db extends object> {
  end: 'failed' | 'duplicate' | 'committed' | undefined
  private isOver = false

  constructor(
    private readonly db: Db,
    private readonly table: SqliteTable,
    private readonly record: DeliveryRecord,
  ) {}

  /** `ctx.tx.commit`. */
  commit<R>(effects: (db: Db) => R): R {
    if (this.isOver) {
      throw new TypeError(
        'ctx.tx.commit was called after the run had ended: await what calls it, and stop when ctx.signal aborts (maxRunSeconds).',
      )
    }
    if (this.end === 'committed') {
      throw new TypeError('ctx.tx.commit was called twice: put all effects into one call.')
    }
    const committed = this.commitWith(() => committing(this.db, () => effects(this.db)))
    if (committed === 'duplicate') {
      throw new Discard(
        'Another delivery of the event was committed meanwhile, so nothing of this one is kept.',
      )
    }
    return committed.result
  }

  /** Commits the effects with the record, unless another delivery was first: then they do not run. */
  commitWith<R>(effects: () => R): { result: R } | 'duplicate' {
    const { table } = this
    this.end = 'failed'
    const committed = table.transaction(() => {
      if (!this.isRecordedNow()) return 'duplicate'
      this.record.forget?.()
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
    this.end = committed === 'duplicate' ? 'duplicate' : 'committed'
    return committed
  }

  /** To be called when the handler has ended, or is given up: a later commit would have no effect on the outcome. */
  close(): void {
    this.isOver = true
  }

  private isRecordedNow(): boolean {
    const { key, retainMs, now } = this.record
    return key === null || recordHandled(this.table, { key, retainMs, now })
  }
}

/** Whether an event was handled. */
export function isRecorded(table: SqliteTable, key: string, now: number): boolean {
  const find = `SELECT 1 AS found FROM ${table.name} WHERE key = @key AND expires_at > @now`
  return table.get(find, { key, now }) !== undefined
}

/** Records that an event was handled. @returns false if that is recorded already */
export function recordHandled(
  table: SqliteTable,
  { key, retainMs, now }: Pick<DeliveryRecord, 'retainMs' | 'now'> & { readonly key: string },
): boolean {
  const time = now()
  const recorded = table.run(
    `INSERT INTO ${table.name} AS stored (key, handled_at, expires_at) VALUES (@key, @now, @expiresAt)
     ON CONFLICT (key) DO UPDATE SET handled_at = excluded.handled_at, expires_at = excluded.expires_at
     WHERE stored.expires_at <= @now`,
    { key, now: time, expiresAt: Math.ceil(time + retainMs) },
  )
  if (recorded !== 1 && !isRecorded(table, key, time)) throw notWritten(table.name)
  return recorded === 1
}

/** The databases whose effects are running: an app may make two inboxes of one. */
const inCommit = new WeakSet<object>()

/** Whether the effects of a delivery are running on this database: the record of `recordIfNewest` must not be kept without them. */
export function isCommitting(db: object): boolean {
  return inCommit.has(db)
}

function committing<R>(db: object, effects: () => R): R {
  inCommit.add(db)
  try {
    return effects()
  } finally {
    inCommit.delete(db)
  }
}
