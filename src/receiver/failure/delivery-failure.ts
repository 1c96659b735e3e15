import { LOOK_UP_PAUSE_MS, PAUSES_MS, STATEMENT_MS, STOPPED_MS, STORE_CALL_MS } from '../../durations.js'
import { StoreError } from '../../errors.js'
import { isJsonObject, type UnknownEvent } from '../../event/events.js'
import { keyOfBytes } from '../../event/key.js'
import type { FailedDelivery, FailureState, Failures } from '../../ledger/failures/failures.js'
import type { GuardedDelivery, GuardedFailure, WorkEnd } from '../../ledger/guard.js'
import type { JoinedInbox } from '../../ledger/inbox.js'
import { describeValue } from '../../lib/describe-type.js'
import { shownMessageOf } from '../../lib/errors/shown-message.js'
import type { OutcomeCode, OutcomeName } from '../outcome.js'
import { groupOf, keptText, messageOfFailure } from './cause.js'

/** The options of failures, and the pause, which the deliveries of a receiver share. */
export interface FailureTerms {
  readonly failures: Failures
  readonly parkAfter: FailedDelivery['parkAfter']
  readonly namespace: string
  readonly now: () => number
  /** Asks the failures whether they can be used; undefined if they cannot be asked. */
  readonly check: (() => unknown) | undefined
  /** Until when no event is looked up, on the monotonic clock: after a call that took too long, each would hold up a delivery as long. */
  readonly pause: { untilMs: number }
}

/** The part of a delivery that its failure needs. */
interface FailingDelivery extends Pick<GuardedDelivery, 'clock' | 'report' | 'track' | 'vacate'> {
  readonly kind: string
  readonly hasBegun: boolean
  readonly key: string | undefined
  readonly account: string | undefined
}

/**
 * How a delivery ends before its handler is called if that is due to its event, or to the app. Anything else says nothing about the event,
 * whatever the error is called: a backend is down, or nothing has run in time. That passes, and the failures may be down with it.
 */
const KEPT_BEFORE_RUN: ReadonlySet<string> = new Set<OutcomeName>(['unprocessable', 'misconfigured'])
/** The same once its handler was called. */
const KEPT_OUTCOMES: ReadonlySet<string> = new Set([...KEPT_BEFORE_RUN, 'failed', 'retry_later'])
/** Failures of other outcomes that are kept: a run that never ended, and a database that would refuse the handler's writes again. */
const KEPT_CODES: ReadonlySet<string | undefined> = new Set<OutcomeCode>(['given_up', 'rolled_back'])

/** The longest text that is looked for. */
const MAX_TEXT_LENGTH = 255

type Answer<Method extends 'get' | 'delete'> = Awaited<ReturnType<Failures[Method]>>

/** The failure of one authentic delivery. Nothing of it changes the answer: what fails is reported. */
export class DeliveryFailure implements GuardedFailure {
  key = ''
  isKept: boolean
  private readonly bytes: Pick<FailedDelivery, 'rawBody' | 'signedAt' | 'secretIndex'>
  private ids: Pick<FailedDelivery, 'eventId' | 'orderId'> = {}
  private hasEnded = false
  /** Set while the failure of a run that was given up is kept: the run may still succeed. */
  private keeping: Promise<unknown> | undefined
  private keepOne: JoinedInbox<unknown>['keep']
  private keepResults: readonly unknown[] = KEPT_STATES

  /**
   * Copies what is to be kept, as it was sent: a handler may change its own, or give the bytes to another thread.
   *
   * @param replayedKey the key of the failure that is replayed
   */
  constructor(
    private readonly terms: FailureTerms,
    private readonly state: FailingDelivery,
    { rawBody, signedAt, secretIndex }: Pick<FailedDelivery, 'rawBody' | 'signedAt' | 'secretIndex'>,
    private readonly replayedKey?: string,
  ) {
    this.bytes = { rawBody: new Uint8Array(rawBody), signedAt: new Date(signedAt), secretIndex }
    this.isKept = replayedKey !== undefined
    this.keepOne = async (failed) => terms.failures.keep(failed)
  }

  get isReplay(): boolean {
    return this.replayedKey !== undefined
  }

  /** To be called once the envelope is read, before the user's code gets it. */
  isOf({ id, data }: UnknownEvent): void {
    const eventId = idOf(id) ?? idOf(idIn(data.event))
    const orderId = idOf(idIn(data.order))
    this.ids = {
      ...(eventId === undefined ? {} : { eventId }),
      ...(orderId === undefined ? {} : { orderId }),
    }
  }

  /** Sets the key: that of the event, or one of its bytes if it has none. */
  async identify(): Promise<void> {
    if (this.key !== '') return
    const { account, key = await keyOfBytes(this.bytes.rawBody, this.terms.namespace, account) } = this.state
    this.key = this.replayedKey ?? key
  }

  keepWith(keep: JoinedInbox<unknown>['keep']): void {
    this.keepOne = keep
    this.keepResults = JOINED_RESULTS
  }

  async find(): Promise<FailureState | undefined> {
    const { clock } = this.state
    if (clock.nowMs < this.terms.pause.untilMs) {
      this.isKept = false
      return undefined
    }
    try {
      // So that failures that hang leave the handler as much time as they take.
      const found = await this.ask('get', () => Math.min(STORE_CALL_MS, (clock.deadlineMs - clock.nowMs) / 2))
      this.isKept = found !== undefined
      return found?.state
    } catch (error) {
      this.isKept = true
      this.reportUnusable(error)
      return 'failing'
    }
  }

  reportUnusable(error: unknown): void {
    this.state.report(this.unavailable('looked up, so the event runs even if it is parked', error))
  }

  /** Whether an end is one of those that are kept. */
  isKeptAs({ outcome, code }: WorkEnd): boolean {
    if (!this.state.hasBegun) return KEPT_BEFORE_RUN.has(outcome)
    return KEPT_OUTCOMES.has(outcome) || KEPT_CODES.has(code as OutcomeCode)
  }

  keep(end: WorkEnd): Promise<FailureState | undefined> {
    return this.keepOnce(end, true)
  }

  private async keepOnce(end: WorkEnd, isOver: boolean): Promise<FailureState | undefined> {
    if (this.hasEnded || !this.isKeptAs(end)) return undefined
    this.hasEnded = true
    try {
      const failed = await this.describe(end)
      const keeping = this.keepDescribed(failed)
      const { clock } = this.state
      // Many that fail together must not hold up those that do not.
      if (isOver) this.state.vacate(Promise.resolve())
      // Many that fail together wait for each other, but the sender does not wait for that.
      const kept = await clock.within(keeping, clock.nowMs + STORE_CALL_MS, () => 'later' as const)
      if (kept !== 'later') return kept
      this.state.track(keeping.catch((error) => this.state.report(this.unavailable('kept', error))))
      return undefined
    } catch (error) {
      this.state.report(this.unavailable('kept', error))
      return undefined
    }
  }

  /** Keeps it in the background, for a run that is given up: its handler may still work, and has its slot. */
  keepLater(end: WorkEnd): void {
    if (!this.isKeptAs(end)) return
    // At once, because the run may succeed before it is.
    this.isKept = true
    this.keeping = this.keepOnce(end, false)
    this.state.track(this.keeping)
  }

  async remove(): Promise<void> {
    await this.keeping
    try {
      await this.ask('delete', () => STORE_CALL_MS)
    } catch (error) {
      this.state.report(
        this.unavailable('removed, although the event is handled: replay or delete it', error),
      )
    }
  }

  private async keepDescribed(failed: FailedDelivery): Promise<FailureState | undefined> {
    const { clock } = this.state
    const kept = await clock.within(this.keepOne(failed), clock.nowMs + STATEMENT_MS, tookTooLong)
    if (!this.keepResults.includes(kept)) throw misbehaved(kept, this.keepResults)
    if (kept === 'in_flight') this.state.track(this.keepAgain(failed))
    return kept === 'failing' || kept === 'parked' ? kept : undefined
  }

  /** Another delivery of the event is in its transaction. If it succeeds there is nothing to keep; if it is longer, it keeps its own failure. */
  private async keepAgain(failed: FailedDelivery): Promise<void> {
    try {
      for (const pauseMs of PAUSES_MS) {
        const { clock } = this.state
        await clock.pause(pauseMs, true)
        const kept = await clock.within(this.keepOne(failed), clock.nowMs + STORE_CALL_MS, tookTooLong)
        if (kept !== 'in_flight') return
      }
    } catch (error) {
      this.state.report(this.unavailable('kept', error))
    }
  }

  /** Also of a foreign backend, which may throw, or return no promise. */
  private async call<Method extends 'get' | 'delete'>(method: Method): Promise<Answer<Method>> {
    return (await this.terms.failures[method](this.key)) as Answer<Method>
  }

  /**
   * The answer of the failures in time. If the process was stopped meanwhile, or its event loop was blocked, a late answer proves nothing, and
   * they are asked once more. Otherwise, if they had the time that a call may take, none is looked up for a while.
   */
  private async ask<Method extends 'get' | 'delete'>(
    method: Method,
    limitMs: () => number,
  ): Promise<Answer<Method>> {
    const { clock } = this.state
    for (let isAgain = false; ; isAgain = true) {
      const ms = limitMs()
      const byMs = clock.nowMs + ms
      const answer = await clock.within<Answer<Method> | 'late'>(this.call(method), byMs, () => 'late')
      if (answer !== 'late') return answer
      if (!isAgain && clock.nowMs > byMs + STOPPED_MS) continue
      // The delivery had no more time.
      if (ms < STORE_CALL_MS) return tookTooLong()
      this.terms.pause.untilMs = clock.nowMs + LOOK_UP_PAUSE_MS
      throw new StoreError(
        'store_unavailable',
        `they took too long. For ${LOOK_UP_PAUSE_MS / 1000} s none is looked up, and parked events run too.`,
      )
    }
  }

  private async describe({ outcome, code = outcome, error }: WorkEnd): Promise<FailedDelivery> {
    await this.identify()
    const { terms, state } = this
    const { account, kind } = state
    return {
      key: this.key,
      namespace: terms.namespace,
      ...(account === undefined ? {} : { account }),
      kind: keptText(kind, MAX_TEXT_LENGTH),
      ...this.ids,
      ...this.bytes,
      failedAt: new Date(terms.now()),
      code,
      message: messageOfFailure(error),
      group: await groupOf({ code, error, kind }),
      isReplay: this.isReplay,
      ...(terms.parkAfter === undefined ? {} : { parkAfter: terms.parkAfter }),
    }
  }

  private unavailable(what: string, cause: unknown): StoreError {
    return new StoreError(
      'not_kept',
      `The failure of ${this.key} could not be ${what}: ${shownMessageOf(cause)}`,
      { cause },
    )
  }
}

function tookTooLong(): never {
  throw new StoreError('store_unavailable', 'they took too long.')
}

type Kept = Awaited<ReturnType<JoinedInbox<unknown>['keep']>>

const KEPT_STATES: readonly Kept[] = ['failing', 'parked']
const JOINED_RESULTS: readonly Kept[] = [...KEPT_STATES, 'handled', 'in_flight']

function misbehaved(kept: unknown, results: readonly unknown[]): StoreError {
  return new StoreError(
    'store_misbehaved',
    `keep returned ${describeValue(kept)}: it must return ${results.join(', or ')}, see Failures.`,
  )
}

function idIn(value: unknown): unknown {
  return isJsonObject(value) ? value.id : undefined
}

/** An id that can be looked for. */
function idOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > MAX_TEXT_LENGTH) return undefined
  return keptText(value, MAX_TEXT_LENGTH) === value ? value : undefined
}
