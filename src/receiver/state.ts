import { SETTLING_MS } from '../durations.js'
import { ConfigurationError } from '../errors.js'
import type { UnknownEvent } from '../event/events.js'
import type { FailedDelivery } from '../ledger/failure.js'
import type { GuardedDelivery, WorkEnd } from '../ledger/guard.js'
import type { EventFacts, ReplayTerms } from '../ledger/store.js'
import { defined } from '../lib/defined.js'
import { callSafely, type MaybePromise } from '../lib/promises.js'
import { AlarmClock } from '../lib/time/alarm-clock.js'
import { monotonicMs } from '../lib/time/clock.js'
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
  readonly settings: Pick<Settings<Request>, 'timeoutMs' | 'onDelivery' | 'onError' | 'now' | 'namespace'>
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
  /** Whether the event is to run without deduplication. */
  isKeyless = false
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
  /** Present for a replay. */
  replay: ReplayTerms | undefined = undefined
  /** Of an authentic delivery, if failures are kept. */
  failure: DeliveryFailure | undefined = undefined
  /** Among the runs, if their number is limited. */
  slot: RunSlot | undefined = undefined
  /** Why the handler's signal has aborted: the first reason counts. */
  abortedFor: { readonly reason: unknown } | undefined = undefined
  /** Not private to JavaScript, like the rest: test runners clone what differs. */
  private controller: AbortController | undefined
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

  /** To be called once the envelope is read, before the user's code gets it. */
  isOf(envelope: UnknownEvent): void {
    this.kind = envelope.type
    this.createdAt = envelope.created_at
    this.failure?.isAbout(envelope)
  }

  /** To be called once the key is made; `null`: the event is to run without deduplication. */
  hasKey(key: string | null): void {
    if (key === null) this.isKeyless = true
    else this.key = key
  }

  get facts(): EventFacts {
    const { account, kind } = this
    const { namespace } = this.shared.settings
    return account === undefined ? { namespace, kind } : { namespace, account, kind }
  }

  get replayed(): boolean {
    return this.replay !== undefined
  }

  failureOf(end: WorkEnd, retainMs: number): MaybePromise<FailedDelivery | undefined> {
    return this.failure?.describe(end, retainMs)
  }

  /** The handler's signal, which is made on first read: a run that never looks at it pays nothing. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController()
      if (this.abortedFor !== undefined) this.controller.abort(this.abortedFor.reason)
    }
    return this.controller.signal
  }

  abort(reason: unknown): void {
    this.abortedFor ??= { reason }
    this.controller?.abort(reason)
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
    const ctx = { request: requestOf(this.delivery), ...this.known }
    callSafely(
      () => onError(error, ctx),
      (thrown) => {
        this.shared.log.callback(this, 'onError', thrown)
        this.log(error, isRefused)
      },
    )
  }

  private get known(): Pick<DeliveryRecord, 'kind' | 'key' | 'account'> {
    const { kind, key, account } = this
    return defined({ kind: kind || undefined, key, account })
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
    const { attempt, secretIndex, signatureAgeSeconds, replayed } = this
    const record: DeliveryRecord = {
      outcome: name,
      status: statusOf(outcome),
      ...defined({ code, attempt, secretIndex, signatureAgeSeconds, replayed: replayed || undefined, error }),
      ...this.known,
      durationMs: this.clock.elapsedMs,
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
