import type { Random } from '../lib/random.js'
import type { VirtualClock } from '../time/clock.js'
import { type Attempts, isSuccess, type ScenarioRequest } from './attempts.js'
import type { Concurrency } from './concurrency.js'
import type { Endpoint } from './endpoint.js'
import type { Endpoints } from './endpoints.js'
import { nextAttempt, retryAfterSeconds } from './next-attempt.js'
import { DeliveryGone } from './record/delivery-gone.js'
import type { DeliveryLog, Tracked } from './record/delivery-log.js'
import { LIMITS } from './record/limits.js'
import type { Attempt, Delivery, Message } from './record/records.js'
import { isScenario, isSettled } from './record/records.js'
import { jittered, MIN_GAP_MS } from './schedule.js'

/** A request of a scenario that is sent before a genuine one. */
export interface ChaosRequest extends ScenarioRequest {
  /** The name of the scenario, for the record. */
  readonly scenario: string
}

/** Chooses the scenario requests to send before an attempt; usually none. */
export type Chaos = (
  message: Message,
  endpoint: Endpoint,
) => readonly ChaosRequest[] | Promise<readonly ChaosRequest[]>

export interface DispatcherParts {
  readonly clock: VirtualClock
  readonly random: Random
  readonly log: DeliveryLog
  readonly endpoints: Endpoints
  readonly attempts: Attempts
  readonly concurrency: Concurrency
  /** Seconds after the first attempt. */
  readonly schedule: readonly number[]
  readonly jitter: number
  readonly networkErrors: 'retry' | 'final'
  readonly chaos: Chaos | undefined
  /** The time of a Retry-After that is a date. */
  readonly signingNow: () => number
  readonly onDelivery: (delivery: Delivery) => void
  readonly onAttempt: (delivery: Delivery, attempt: Attempt) => void
}

/** Attempts each delivery by the schedule until it is settled. */
export class Dispatcher {
  readonly #parts: DispatcherParts

  constructor(parts: DispatcherParts) {
    this.#parts = parts
  }

  /** Starts a delivery: its first attempt is due at once. */
  take(message: Message, endpoint: Endpoint): Delivery {
    const { clock, random, log } = this.#parts
    const firstAtMs = clock.now()
    const begun = { id: random.id('dlv_'), message, endpointId: endpoint.id, firstAtMs, attempts: [] }
    const refusal = !endpoint.enabled
      ? 'The endpoint is disabled.'
      : log.isFull
        ? `${LIMITS.unsettled} deliveries are pending, the maximum: advance the clock, or reset.`
        : undefined
    const tracked =
      refusal === undefined
        ? log.add({ ...begun, status: 'pending', nextAtMs: firstAtMs }, random.seed())
        : log.add({ ...begun, status: 'skipped', reason: refusal }, random.seed())
    this.arm(tracked)
    this.#parts.onDelivery(tracked.delivery)
    return tracked.delivery
  }

  /** Sets the timer of the next attempt. */
  arm(tracked: Tracked): void {
    const { clock, concurrency } = this.#parts
    const { nextAtMs, endpointId } = tracked.delivery
    tracked.timer?.cancel()
    tracked.timer =
      nextAtMs === undefined
        ? undefined
        : clock.at(
            nextAtMs,
            () => concurrency.run(endpointId, () => this.#tryNow(tracked)),
            () => nextAttemptOf(tracked.delivery),
          )
  }

  /** When it is tried from now on, in virtual milliseconds, as long as each attempt fails at once. */
  planned({ delivery, seed }: Tracked): readonly number[] {
    const { schedule, jitter } = this.#parts
    const { firstAtMs, nextAtMs } = delivery
    const steps = jittered(schedule, jitter, seed)
    const end = (schedule.at(-1) ?? 0) * 1000
    const planned: number[] = []
    let at = nextAtMs === undefined ? undefined : nextAtMs - firstAtMs
    while (at !== undefined) {
      planned.push(firstAtMs + at)
      at = nextAttempt(steps, at, MIN_GAP_MS, end)
    }
    return planned
  }

  /** Skips all deliveries that wait for an endpoint. */
  skip(endpointId: string, reason: string): void {
    const { log } = this.#parts
    const waiting = [...log].filter(
      ({ delivery }) =>
        delivery.endpointId === endpointId && !isSettled(delivery) && delivery.nextAtMs !== undefined,
    )
    for (const tracked of waiting.reverse()) {
      this.#end(tracked, 'skipped', reason)
      this.#parts.onDelivery(tracked.delivery)
    }
  }

  /**
   * Sends it again, at once. A success settles the delivery unless it went to another URL or a scenario sent it; a failure changes nothing.
   *
   * @throws DeliveryGone if it was dropped, or its endpoint was removed
   */
  async resend(tracked: Tracked, to?: string): Promise<Attempt> {
    const { endpoints, attempts, log } = this.#parts
    const endpoint = endpoints.get(tracked.delivery.endpointId)
    if (!log.has(tracked)) throw DeliveryGone.forgotten(tracked.delivery.id)
    if (endpoint === undefined) {
      throw new DeliveryGone(
        'The endpoint of this delivery was removed, and its secret with it: trigger the kind again.',
      )
    }
    const { secrets } = endpoint
    const attempt = await attempts.genuine(tracked, { url: to ?? endpoint.url, secrets }, 'manual')
    if (!this.#record(tracked, attempt)) return attempt
    const isDelivered = isSuccess(attempt) && to === undefined && !isScenario(tracked.delivery)
    if (isDelivered) this.#end(tracked, 'delivered')
    this.#parts.onAttempt(tracked.delivery, attempt)
    return attempt
  }

  async #tryNow(tracked: Tracked): Promise<void> {
    if (!this.#isWaiting(tracked)) return
    try {
      await this.#disturb(tracked)
    } finally {
      // An error of the chaos function must not cost the attempt.
      await this.#try(tracked)
    }
  }

  async #try(tracked: Tracked): Promise<void> {
    const { endpoints, attempts } = this.#parts
    const endpoint = endpoints.get(tracked.delivery.endpointId)
    // A resend may have delivered it meanwhile, or the endpoint was removed.
    if (endpoint === undefined || !this.#isWaiting(tracked)) return
    const attempt = await attempts.genuine(tracked, endpoint, 'auto')
    if (!this.#record(tracked, attempt)) return
    this.#judge(tracked, attempt)
    this.#parts.onAttempt(tracked.delivery, attempt)
  }

  /** Sends the requests of the chaos, whose answers do not count. */
  async #disturb(tracked: Tracked): Promise<void> {
    const { chaos, endpoints, attempts } = this.#parts
    const endpoint = endpoints.get(tracked.delivery.endpointId)
    if (chaos === undefined || endpoint === undefined) return
    for (const request of await chaos(tracked.delivery.message, endpoint)) {
      const attempt = await attempts.ofScenario(tracked, endpoint, request.scenario, request)
      if (!this.#record(tracked, attempt)) return
      this.#parts.onAttempt(tracked.delivery, attempt)
    }
  }

  #judge(tracked: Tracked, attempt: Attempt): void {
    const { error, response } = attempt
    const nextAtMs = this.#nextAt(tracked, attempt)
    if (isSuccess(attempt)) {
      this.#end(tracked, 'delivered')
    } else if (isSettled(tracked.delivery)) {
      // A resend delivered it, or it was skipped, while this attempt was in flight: a failure must not change that.
    } else if (nextAtMs !== undefined) {
      this.#parts.log.change(tracked, { status: 'retrying', nextAtMs })
      this.arm(tracked)
    } else if (error !== undefined && this.#parts.networkErrors === 'final') {
      this.#end(tracked, 'failed', `There was no answer (${error.code}), which is final here.`)
    } else {
      this.#end(tracked, 'failed', `The last attempt failed: ${error?.code ?? response?.status}.`)
    }
  }

  #nextAt({ delivery, seed }: Tracked, attempt: Attempt): number | undefined {
    const { clock, schedule, jitter, networkErrors, signingNow } = this.#parts
    if (attempt.error !== undefined && networkErrors === 'final') return undefined
    const answered = clock.now() - delivery.firstAtMs
    const asked = retryAfterSeconds(attempt.response?.headers['retry-after'] ?? '', signingNow()) * 1000
    const gap = attempt.virtualMs + MIN_GAP_MS - clock.now()
    const end = (schedule.at(-1) ?? 0) * 1000
    const next = nextAttempt(jittered(schedule, jitter, seed), answered, Math.max(asked, gap), end)
    return next === undefined ? undefined : delivery.firstAtMs + next
  }

  #end(tracked: Tracked, status: 'delivered' | 'failed' | 'skipped', reason?: string): void {
    tracked.timer?.cancel()
    tracked.timer = undefined
    this.#parts.log.change(tracked, { status, reason, nextAtMs: undefined })
  }

  /** Records the attempt; false if a reset dropped the delivery meanwhile. */
  #record(tracked: Tracked, attempt: Attempt): boolean {
    const { log } = this.#parts
    if (!log.has(tracked)) return false
    log.addAttempt(tracked, attempt)
    return true
  }

  #isWaiting(tracked: Tracked): boolean {
    const { log, attempts } = this.#parts
    return log.has(tracked) && !isSettled(tracked.delivery) && !attempts.isClosed
  }
}

function nextAttemptOf({ id, message, attempts }: Delivery): string {
  const tried = attempts.filter(({ trigger }) => trigger === 'auto').length
  return `attempt ${tried + 1} of ${message.type} [${id}]`
}
