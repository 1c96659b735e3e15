import type { Random } from '../lib/random.js'
import type { VirtualClock } from '../time/clock.js'
import type { Attempts, ScenarioRequest } from './attempts.js'
import type { DeliveryLog } from './record/delivery-log.js'
import type { Attempt, Delivery, Message } from './record/records.js'

/** The target of a scenario: an endpoint, or any URL. */
export interface ScenarioTarget {
  /** Empty if it is no endpoint. */
  readonly endpointId: string
  readonly url: string
  readonly secrets: readonly string[]
}

/** The requests of a scenario, its name, and how they are sent. */
export interface ScenarioRequests {
  readonly scenario: string
  /** The requests, in the order in which they are sent. */
  readonly requests: readonly ScenarioRequest[]
  /** Whether they are sent concurrently. Default false. */
  readonly atOnce?: boolean | undefined
  /** Whether the answers are those that the scenario expects. */
  passes(attempts: readonly Attempt[]): boolean
}

export interface ScenarioDeliveryParts {
  readonly clock: VirtualClock
  readonly random: Random
  readonly log: DeliveryLog
  readonly attempts: Attempts
  readonly onDelivery: (delivery: Delivery) => void
  readonly onAttempt: (delivery: Delivery, attempt: Attempt) => void
}

/**
 * Sends the requests of a scenario, once, and records them as one delivery, which passes or gets a wrong answer: a refusal may be right,
 * and an acceptance wrong.
 */
export async function deliverScenario(
  { clock, random, log, attempts, onDelivery, onAttempt }: ScenarioDeliveryParts,
  target: ScenarioTarget,
  message: Message,
  { scenario, requests, atOnce = false, passes }: ScenarioRequests,
): Promise<Delivery> {
  const { endpointId } = target
  const firstAtMs = clock.now()
  const delivery = { id: random.id('dlv_'), message, endpointId, scenario, firstAtMs, attempts: [] }
  const tracked = log.add({ ...delivery, status: 'pending' }, random.seed())
  onDelivery(tracked.delivery)

  const send = async (request: ScenarioRequest): Promise<Attempt> => {
    const attempt = await attempts.ofScenario(tracked, target, scenario, request)
    if (log.has(tracked)) {
      log.addAttempt(tracked, attempt)
      onAttempt(tracked.delivery, attempt)
    }
    return attempt
  }
  const { inFlight } = attempts
  let sent: Attempt[] = []
  if (atOnce) sent = await Promise.all(requests.map(send))
  else for (const request of requests) if (!inFlight.aborted) sent.push(await send(request))

  if (inFlight.aborted || !log.has(tracked)) return tracked.delivery
  log.change(tracked, { status: passes(sent) ? 'passed' : 'wrong_answer' })
  onDelivery(tracked.delivery)
  return tracked.delivery
}
