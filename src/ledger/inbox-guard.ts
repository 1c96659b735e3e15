import { COMMIT_MS, RETRY_SECONDS } from '../durations.js'
import { codeOf, StoreError } from '../errors.js'
import { callSafely, deferred, ignoreRejection } from '../lib/promises.js'
import {
  type Denial,
  type Grant,
  type Guard,
  type GuardedDelivery,
  isDone,
  keepFailure,
  parkedBy,
  termsFor,
  type Work,
  type WorkEnd,
} from './guard.js'
import type { Inbox, OnceRequest, OnceResult, OnceRun } from './inbox.js'
import { isLedger } from './store.js'
import { callInbox } from './store-call.js'

type OnceStatus = OnceResult['status']

const ONCE_STATUSES: readonly unknown[] = [
  'handled',
  'discarded',
  'duplicate',
  'in_flight',
  'parked',
] satisfies OnceStatus[]

export interface InboxGuardTerms {
  readonly retainMs: number
  readonly maxRunMs: number
}

/** Guards with the transactions of an inbox: the handler runs in one, which is committed or rolled back together with its record. */
export function inboxGuard(inbox: Inbox<unknown>, terms: InboxGuardTerms): Guard {
  return {
    run: (key, delivery, work) =>
      new InboxRun(inbox, { key, ...terms, ...termsFor(inbox, delivery) }, delivery, work).run(),
    keep: (delivery, end) => keepFailure(inbox, delivery, end, terms.retainMs),
    check: typeof inbox.check === 'function' ? () => inbox.check?.() : undefined,
  }
}

/** One delivery in a transaction of an inbox. Once that is open, it is the grant of the handler. */
class InboxRun<End extends WorkEnd> implements Grant {
  tx: unknown
  attempt: number | undefined
  private phase: 'opening' | 'running' | 'over' = 'opening'
  private readonly opened = deferred()
  private running: Promise<End> | undefined
  private ended: Promise<OnceStatus> | undefined
  private readonly givenUp = deferred<never>()
  private givenUpFor: { readonly reason: unknown } | undefined

  constructor(
    private readonly inbox: Inbox<unknown>,
    private readonly request: OnceRequest,
    private readonly delivery: GuardedDelivery,
    private readonly work: Work<End>,
  ) {}

  get deduplicated(): boolean {
    return this.request.key !== null
  }

  /**
   * Runs the handler, and keeps its failure once the transaction is over.
   *
   * @throws StoreError when the inbox is down, or has opened no transaction by the deadline: one that opens later is rolled back
   */
  async run(): Promise<End | Denial> {
    try {
      const ended = await this.inTransaction()
      if ('status' in ended || isDone(ended) || this.givenUpFor !== undefined) return ended
      return (await this.keep(ended)) ? parkedBy(ended) : ended
    } catch (error) {
      // Such as a COMMIT that was refused, as it will be again.
      const end = { outcome: 'unavailable', code: codeOf(error) ?? '', error }
      if (this.givenUpFor === undefined && (await this.keep(end))) return parkedBy(end)
      throw error
    }
  }

  private async inTransaction(): Promise<End | Denial> {
    const ended = this.callInbox()
    this.ended = ended
    ignoreRejection(ended)
    // One that is late for its transaction still waits for a connection.
    this.delivery.occupy(ended)
    await this.delivery.clock.inTime(this.opened.promise, () => {
      throw notInTime()
    })
    if (this.running !== undefined) return this.confirmed(await this.running, ended)
    const status = await ended
    if (status === 'handled' || status === 'discarded') throw misbehaved(status)
    return denialOf(status)
  }

  private keep(end: WorkEnd): Promise<boolean> {
    return keepFailure(this.inbox, this.delivery, end, this.request.retainMs)
  }

  private async callInbox(): Promise<OnceStatus> {
    const { inbox, request } = this
    const work = (tx: unknown, run?: OnceRun): Promise<void> => {
      const held = this.holdOpen(tx, run)
      // An inbox that does not await it would leave its rejection unhandled.
      ignoreRejection(held)
      return held
    }
    try {
      const status = await callInbox(() => inbox.once(request, work), readOnceStatus)
      // Only a ledger has a replay for what is parked.
      if (status === 'parked' && !isLedger(inbox)) throw misbehaved(status)
      // An inbox that does not await its work reports an end before there is one.
      if (this.phase === 'running' && (status === 'handled' || status === 'discarded'))
        throw misbehaved(status)
      return status
    } catch (error) {
      // Such as a connection that was lost while the handler was running.
      if (this.phase === 'running') this.delivery.abort(error)
      throw error
    } finally {
      this.phase = 'over'
      this.opened.resolve()
    }
  }

  /** The work of the inbox: keeps the transaction open while the handler runs, and rejects unless its writes are to be committed. */
  private async holdOpen(tx: unknown, run: OnceRun | undefined): Promise<void> {
    if (this.delivery.clock.isOver) throw notInTime()
    // A library that retries a commit would run the handler again.
    if (this.phase !== 'opening') throw calledAgain()
    this.phase = 'running'
    this.tx = tx
    if (this.deduplicated) this.attempt = run?.attempt
    // Called here, because some libraries find their transaction by the asynchronous context.
    this.running = Promise.resolve(this.work(this))
    this.opened.resolve()
    const { outcome, error } = await Promise.race([this.running, this.givenUp.promise])
    this.phase = 'over'
    if (committedAs(outcome) !== 'handled') throw error
  }

  /** Nothing is certain until the commit is confirmed. */
  unconfirmedError(end: WorkEnd): unknown {
    return isDone(end) ? notConfirmed() : undefined
  }

  /** However the handler ends later, its writes are lost. */
  giveUp(end: WorkEnd): void {
    this.phase = 'over'
    this.givenUpFor = { reason: end.error }
    this.givenUp.reject(end.error)
    if (this.ended === undefined) return
    // Its connection is back then, though the handler may never settle.
    this.delivery.vacate(this.ended)
    this.delivery.track(this.ended.catch(() => {}).then(() => this.keep(end)))
  }

  hint(): string {
    let hint: unknown
    callSafely(() => {
      hint = this.inbox.hint?.()
      return hint
    })
    return typeof hint === 'string' ? hint : ''
  }

  /**
   * The end of the handler, if that was recorded: a success is confirmed only if the inbox reports the same outcome.
   *
   * @throws the reason for which it is not; a StoreError when that is unknown
   */
  private async confirmed(end: End, ended: Promise<OnceStatus>): Promise<End | Denial> {
    const { clock } = this.delivery
    if (this.givenUpFor !== undefined) {
      if (isDone(end)) throw this.givenUpFor.reason
      return end
    }
    let status: OnceStatus
    try {
      status = await clock.within(ended, clock.nowMs + COMMIT_MS, () => {
        throw notConfirmed()
      })
    } catch (error) {
      // After a failed handler, `once` rejects with its error, wrapped, or with that of the rollback: the handler's end stands. An error
      // that is not wrapped is one of the inbox, which the handler only passed on.
      if (isDone(end) || error === end.error) throw error
      return end
    }
    // The record of a discard is written after the rollback, and another delivery may have come in between.
    if (status === 'duplicate' || status === 'in_flight' || status === 'parked') return denialOf(status)
    // The inbox reports it as handled although the handler failed: if that was recorded, the event never runs again.
    if (status !== committedAs(end.outcome)) throw misbehaved(status, end.error)
    return end
  }
}

/** An event that was handled elsewhere gets a record like any other, and nothing is written beside it. */
function committedAs(outcome: string): string {
  return outcome === 'duplicate' ? 'handled' : outcome
}

function denialOf(status: 'duplicate' | 'in_flight' | 'parked'): Denial {
  return status === 'in_flight' ? { status, retryAfterMs: RETRY_SECONDS * 1000 } : { status }
}

function readOnceStatus(value: unknown): OnceStatus | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { status } = value as { status?: unknown }
  return ONCE_STATUSES.includes(status) ? (status as OnceStatus) : undefined
}

function notInTime(): StoreError {
  return new StoreError(
    'store_unavailable',
    'The inbox had not opened a transaction by the deadline (timeoutSeconds): is the database slow, or its pool of connections too small for the deliveries that arrive at the same time? Nothing has run.',
  )
}

function notConfirmed(): StoreError {
  return new StoreError(
    'store_unavailable',
    'The handler returned, but the database has not confirmed the commit in time: is a cursor or a stream of ctx.tx still open? The next delivery finds out whether it was committed.',
  )
}

function misbehaved(status: OnceStatus, cause?: unknown): StoreError {
  return new StoreError(
    'store_misbehaved',
    `The inbox returned ${status}, but that is not how its work ended: see Inbox.`,
    cause === undefined ? {} : { cause },
  )
}

function calledAgain(): StoreError {
  return new StoreError(
    'store_misbehaved',
    'The inbox called its work a second time, or after it had ended: a library that retries transactions must not do so here. See Inbox.',
  )
}
