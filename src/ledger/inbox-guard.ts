import { COMMIT_MS, RETRY_SECONDS } from '../durations.js'
import { StoreError } from '../errors.js'
import { ignoreRejection } from '../lib/call-safely.js'
import { deferred } from '../lib/deferred.js'
import { isParked, removeKept } from './failing-run.js'
import type { Failures } from './failures/failures.js'
import {
  type Denial,
  type Grant,
  type Guard,
  type GuardedDelivery,
  type GuardedFailure,
  isDone,
  PARKED,
  type Work,
  type WorkEnd,
} from './guard.js'
import type { Inbox, JoinedInbox, OnceRequest } from './inbox.js'
import { callInbox } from './store-call.js'

type OnceStatus = Awaited<ReturnType<JoinedInbox<unknown>['once']>>['status']

/** The part of an inbox that a run uses. */
interface RunInbox extends Pick<Inbox<unknown>, 'hint'> {
  /** Whether it may answer `parked`: an inbox that is joined with failures. */
  readonly isJoined?: true
  once(request: OnceRequest, work: (tx: unknown) => Promise<void>): Promise<{ readonly status: OnceStatus }>
}

const ONCE_STATUSES: readonly unknown[] = [
  'handled',
  'discarded',
  'duplicate',
  'in_flight',
  'parked',
] satisfies OnceStatus[]

/** Guards with the transactions of an inbox: the handler runs in one, which is committed or rolled back together with its record. */
export function inboxGuard(
  inbox: Inbox<unknown>,
  terms: Omit<OnceRequest, 'key'>,
  failures?: Failures,
): Guard {
  const joined = failures === undefined ? undefined : inbox.joinFailures?.(failures)

  return {
    run(key, delivery, work) {
      const request = { key, ...terms }
      const { failure } = delivery
      if (failure === undefined) return new InboxRun(inbox, request, delivery, work).run()
      if (joined === undefined)
        return runBeside(failure, () => new InboxRun(inbox, request, delivery, work).run())
      failure.keepWith(joined.keep)
      const together = joinedFor(joined, inbox, failure)
      return keeping(failure, new InboxRun(together, request, delivery, work).run())
    },
    async keep(_, { failure }, end) {
      if (joined !== undefined) failure?.keepWith(joined.keep)
      return (await failure?.keep(end)) === 'parked'
    },
    check: typeof inbox.check === 'function' ? () => inbox.check?.() : undefined,
  }
}

/** The inbox for one delivery: its transaction looks at the failure, and removes it. */
function joinedFor(joined: JoinedInbox<unknown>, inbox: Inbox<unknown>, failure: GuardedFailure): RunInbox {
  const { key: failureKey, isReplay: runsParked } = failure
  const report = (error: unknown): void => failure.reportUnusable(error)
  return {
    isJoined: true,
    once: (request, work) => joined.once({ ...request, failureKey, runsParked, report }, work),
    hint: () => inbox.hint?.(),
  }
}

/** With failures of another database, which are looked up before the transaction and written after it: no run waits for a second connection. */
async function runBeside<End extends WorkEnd>(
  failure: GuardedFailure,
  run: () => Promise<End | Denial>,
): Promise<End | Denial> {
  if (await isParked(failure)) return PARKED
  const ended = await keeping(failure, run())
  // A duplicate too: a process that died after its COMMIT has left the failure.
  if ('status' in ended ? ended.status === 'duplicate' : isDone(ended)) await removeKept(failure)
  return ended
}

/** Keeps the failure once the transaction is over. */
async function keeping<End extends WorkEnd>(
  failure: GuardedFailure,
  running: Promise<End | Denial>,
): Promise<End | Denial> {
  const ended = await running
  if ('status' in ended || isDone(ended)) return ended
  const isNowParked = (await failure.keep(ended)) === 'parked'
  return isNowParked && !failure.isReplay ? { ...PARKED, error: ended.error } : ended
}

/** One delivery in a transaction of an inbox. Once that is open, it is the grant of the handler. */
class InboxRun<End extends WorkEnd> implements Grant {
  tx: unknown
  private phase: 'opening' | 'running' | 'over' = 'opening'
  private readonly opened = deferred()
  private running: Promise<End> | undefined
  private ended: Promise<OnceStatus> | undefined
  private readonly givenUp = deferred<never>()
  private givenUpFor: { readonly reason: unknown } | undefined

  constructor(
    private readonly inbox: RunInbox,
    private readonly request: OnceRequest,
    private readonly delivery: GuardedDelivery,
    private readonly work: Work<End>,
  ) {}

  get deduplicated(): boolean {
    return this.request.key !== null
  }

  /** @throws StoreError when the inbox is down, or has opened no transaction by the deadline: one that opens later is rolled back */
  async run(): Promise<End | Denial> {
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
    return status === 'parked' && this.inbox.isJoined ? PARKED : withoutRun(status)
  }

  private async callInbox(): Promise<OnceStatus> {
    const { inbox, request } = this
    const work = (tx: unknown): Promise<void> => {
      const held = this.holdOpen(tx)
      // An inbox that does not await it would leave its rejection unhandled.
      ignoreRejection(held)
      return held
    }
    try {
      const status = await callInbox(() => inbox.once(request, work), readOnceStatus)
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
  private async holdOpen(tx: unknown): Promise<void> {
    if (this.delivery.clock.isOver) throw notInTime()
    // A library that retries a commit would run the handler again.
    if (this.phase !== 'opening') throw calledAgain()
    this.phase = 'running'
    this.tx = tx
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
  abandon(reason: unknown): void {
    this.phase = 'over'
    this.givenUpFor = { reason }
    this.givenUp.reject(reason)
    // Its connection is back then, though the handler may never settle.
    if (this.ended !== undefined) this.delivery.vacate(this.ended)
  }

  hint(): string {
    try {
      const hint: unknown = this.inbox.hint?.()
      if (typeof hint === 'string') return hint
      ignoreRejection(hint)
    } catch {}
    return ''
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
    if (status === 'duplicate' || status === 'in_flight') return denialOf(status)
    // The inbox reports it as handled although the handler failed: if that was recorded, the event never runs again.
    if (status !== committedAs(end.outcome)) throw misbehaved(status, end.error)
    return end
  }
}

/** An event that was handled elsewhere gets a record like any other, and nothing is written beside it. */
function committedAs(outcome: string): string {
  return outcome === 'duplicate' ? 'handled' : outcome
}

function withoutRun(status: OnceStatus): Denial {
  if (status === 'duplicate' || status === 'in_flight') return denialOf(status)
  throw misbehaved(status)
}

function denialOf(status: 'duplicate' | 'in_flight'): Denial {
  return status === 'duplicate' ? { status } : { status, retryAfterMs: RETRY_SECONDS * 1000 }
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
