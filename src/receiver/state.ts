import { SETTLING_MS } from '../durations.js'
import { ConfigurationError } from '../errors.js'
import type { GuardedDelivery } from '../ledger/guard.js'
import { AbortSource } from '../lib/abort-source.js'
import { callSafely } from '../lib/call-safely.js'
import { AlarmClock } from '../lib/time/alarm-clock.js'
import { monotonicMs } from '../lib/time/timers.js'
import type { Bounded, Drain } from '../operation/drain.js'
import type { ReachedLimit, RunSlot, SlotLimits } from '../operation/run-slots.js'
import type { DefaultLog, LoggedDelivery } from './default-log.js'
import type { AnyDelivery, Delivery } from './delivery.js'
import type { DeliveryFailure } from './failure/delivery-failure.js'
import type { DeliveryRecord } from './options/options.js'
import type { Settings } from './options/settings.js'
import { isFault, isRefusal, type Outcome, statusOf } from './outcome.js'

/** The parts of a receiver that its deliveries share. */
export interface Shared<Request> {
  readonly settings: Pick<Settings<Request>, 'timeoutMs' | 'onDelivery' | 'onError' | 'now'>
  readonly drain: Drain
  /** Written to if there is no `onError`, or if it throws. */
  readonly log: DefaultLog
}

/** One delivery from its arrival to its end: its known values so far, its clock, its reports and its signal. */
export class DeliveryState<Request = unknown> implements GuardedDelivery<Request>, LoggedDelivery {
  readonly clock: AlarmClock
  /** Empty until the envelope is read. */
  kind = ''
  /** The event's `created_at`, as it was sent. Empty until the envelope is read. */
  createdAt = ''
  /** Undefined until it is made, and for an event without one. */
  key: string | undefined = undefined
  attempt: number | undefined = undefined
  /** Whether its handler was called. */
  hasBegun = false
  /** The id of the account, once it is found. */
  account: string | undefined = undefined
  /** Undefined until a secret has matched. */
  secretIndex: number | undefined = undefined
  signatureAgeSeconds: number | undefined = undefined
  /** Whether signature and timestamp are those of a fresh delivery: before, anybody may have sent it. */
  isVerified = false
  /** Whether it is a replay. */
  replayed = false
  /** Of an authentic delivery, if failures are kept. */
  failure: DeliveryFailure | undefined = undefined
  /** Among the runs, if their number is limited. */
  slot: RunSlot | undefined = undefined
  /** Of the handler's signal. */
  readonly aborting: AbortSource = new AbortSource()
  private run: Promise<unknown> | undefined
  private whenFinished: (() => void) | undefined

  constructor(
    readonly delivery: AnyDelivery<Request>,
    private readonly shared: Shared<Request>,
  ) {
    this.clock = new AlarmClock(shared.settings.timeoutMs)
    shared.drain.enter(this.clock.deadlineMs)
  }

  get request(): Request {
    return this.delivery.request
  }

  /** Whether there is a request: a replay may have none. */
  get hasRequest(): boolean {
    return this.delivery.hasRequest !== false
  }

  abort(reason: unknown): void {
    this.aborting.abort(reason)
  }

  /**
   * Asks the platform, if it can, to keep this delivery running to its end, even if the client disconnects: a Worker cancels the work of
   * such a request, and an event that was claimed would stay in flight, or a completion be lost.
   */
  keepAlive(): void {
    if (this.whenFinished !== undefined) return
    this.waitUntil(
      () =>
        new Promise<void>((resolve) => {
          this.whenFinished = resolve
        }),
    )
  }

  /** Registers work that goes on after the answer: a drain waits for it, and the platform keeps it alive if it can. */
  track(work: Promise<unknown>, bound: Bounded = { endsAtMs: monotonicMs() + SETTLING_MS }): void {
    this.shared.drain.track(work, bound)
    this.waitUntil(() => work)
  }

  private waitUntil(work: () => Promise<unknown>): void {
    callSafely(
      () => this.delivery.waitUntil?.(work()),
      (thrown) => this.shared.log.callback(this, 'waitUntil', thrown),
    )
  }

  occupy(work: Promise<unknown>): void {
    this.run = work
    this.slot?.keepUntil(work)
  }

  /** Resolves once its run is over, which may be after its answer. */
  async whenOver(): Promise<void> {
    await this.run?.catch(() => {})
  }

  vacate(work: Promise<unknown>): void {
    this.slot?.freeAfter(work)
  }

  /** How old the event is, else how long ago the delivery was signed; undefined while neither is known. */
  get ageSeconds(): number | undefined {
    const ageMs = this.shared.settings.now() - Date.parse(this.createdAt)
    return Number.isNaN(ageMs) ? this.signatureAgeSeconds : ageMs / 1000
  }

  /** @param isRefused whether it is the error of a refusal */
  report(error: unknown, isRefused = false): void {
    const { onError } = this.shared.settings
    if (onError === undefined) {
      this.log(error, isRefused)
      return
    }
    const { delivery, kind, key, account } = this
    const ctx = {
      request: requestOf(delivery),
      ...(kind === '' ? {} : { kind }),
      ...(key === undefined ? {} : { key }),
      ...(account === undefined ? {} : { account }),
    }
    callSafely(
      () => onError(error, ctx),
      (thrown) => {
        this.shared.log.callback(this, 'onError', thrown)
        this.log(error, isRefused)
      },
    )
  }

  private log(error: unknown, isRefused: boolean): void {
    const { log } = this.shared
    if (isRefused) log.refusal(this, error)
    else if (this.isVerified) log.fault(this, error)
    else log.unverifiedFault(this, error)
  }

  /** Reports a kind without a handler: logged only if nothing else in the receiver would report it. */
  reportUnhandled(): void {
    if (!this.isReportedByUser()) this.shared.log.unhandled(this)
  }

  /** Reports that no slot was free among the runs, if nothing else in the receiver would report it. */
  reportOverload(reached: ReachedLimit, limits: SlotLimits): void {
    if (!this.isReportedByUser()) this.shared.log.overloaded(this, reached, limits[reached])
  }

  /** Not if onDelivery is telemetry: it may have no provider, and its metrics do not name unknown kinds. */
  private isReportedByUser(): boolean {
    const { onDelivery } = this.shared.settings
    return onDelivery !== undefined && !('isTelemetry' in onDelivery)
  }

  /**
   * Ends the delivery: one record, a fault if it ended with one, the timer cleared, the drain's count decremented. Called once, and never
   * throws.
   */
  end(outcome: Outcome): Outcome {
    try {
      this.clock.end()
      this.reportEnd(outcome)
    } catch {
      // A failed report must not change the outcome, and a polluted prototype can make any of its steps throw.
    } finally {
      this.whenFinished?.()
      this.shared.drain.leave()
    }
    return outcome
  }

  private reportEnd(outcome: Outcome): void {
    const { settings, log } = this.shared
    const { outcome: name, code, error } = outcome
    if (isFault(outcome)) this.report(error, isRefusal(outcome))
    if (isAnswered(this.delivery)) this.report(answeredByOthers(name))
    const { onDelivery } = settings
    if (onDelivery === undefined) return
    const { kind, key, account, attempt, secretIndex, signatureAgeSeconds, replayed } = this
    const record: DeliveryRecord = {
      outcome: name,
      status: statusOf(outcome),
      ...(code === undefined ? {} : { code }),
      ...(kind === '' ? {} : { kind }),
      ...(key === undefined ? {} : { key }),
      ...(account === undefined ? {} : { account }),
      ...(attempt === undefined ? {} : { attempt }),
      ...(secretIndex === undefined ? {} : { secretIndex }),
      ...(signatureAgeSeconds === undefined ? {} : { signatureAgeSeconds }),
      ...(replayed ? { replayed } : {}),
      durationMs: this.clock.elapsedMs,
      ...(error === undefined ? {} : { error }),
    }
    callSafely(
      () => onDelivery(record, { request: requestOf(this.delivery) }),
      (thrown) => log.callback(this, 'onDelivery', thrown),
    )
  }
}

/** A delivery of a broken adapter may be missing, or throw, and a replay without a request throws: it is reported all the same. */
function requestOf<Request>(delivery: Delivery<Request>): Request {
  try {
    return delivery.request
  } catch {
    return undefined as Request
  }
}

function isAnswered(delivery: Delivery): boolean {
  try {
    return delivery.isAnswered?.() === true
  } catch {
    return false
  }
}

function answeredByOthers(outcome: string): ConfigurationError {
  return new ConfigurationError(
    `The delivery ended as ${outcome}, but the request had already been answered, and the sender got that answer: does a middleware call next() twice, or does your handler answer the request itself?`,
  )
}
