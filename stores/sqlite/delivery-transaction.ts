import { Discard } from '../../src/index.js'
import type { WriteValues } from '../sql/ledger.js'
import { openAnswer } from '../sql/verdict.js'
import type { EventsTable } from './events.js'

/** Another delivery was committed meanwhile, or has a lease. */
type Refusal = 'duplicate' | 'in_flight'

/** The one transaction of one delivery: the effects of its handler and the record of the event. */
export class DeliveryTransaction<Db extends object> {
  end: 'failed' | 'committed' | Refusal | undefined
  private isOver = false

  /** @param record absent if there is no key */
  constructor(
    private readonly db: Db,
    private readonly tables: Pick<EventsTable, 'table' | 'events'>,
    private readonly record: WriteValues | undefined,
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
    if (typeof committed === 'string') {
      throw new Discard('Another delivery has the event by now, so nothing of this one is kept.')
    }
    return committed.result
  }

  /**
   * Commits the effects with the record, unless another delivery was first: then they do not run.
   *
   * @param reason for which the event is discarded, if it is
   */
  commitWith<R>(effects: () => R, reason?: string): { result: R } | Refusal {
    const { table } = this.tables
    this.end = 'failed'
    const committed = table.transaction(() => {
      const refusal = this.recorded(reason)
      if (refusal !== undefined) return refusal
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
    this.end = typeof committed === 'string' ? committed : 'committed'
    return committed
  }

  /** To be called when the handler has ended, or is given up: a later commit would have no effect on the outcome. */
  close(): void {
    this.isOver = true
  }

  private recorded(reason: string | undefined): Refusal | undefined {
    if (this.record === undefined) return undefined
    // Parked or not: what it wrote counts.
    const { status } = openAnswer(this.tables.events.upsert('settle', { ...this.record, reason }), true)
    return status === 'opened' ? undefined : (status as Refusal)
  }
}

/** The databases whose effects are running: an app may make two inboxes of one. */
const inCommit = new WeakSet<object>()

/** Whether the effects of a delivery are running on this database: what `recordIfNewest` records must not be kept without them. */
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
