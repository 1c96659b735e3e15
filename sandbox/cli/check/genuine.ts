import { IN_FLIGHT, isHandled, isParked, type SendResult } from '../../internal.js'
import { ADVICE } from './advice.js'
import { ofRefusal } from './consequence.js'
import {
  adviceOn,
  CONFLICT,
  type Fault,
  faultOfLimit,
  type Probed,
  placesOf,
  redirectIn,
  statusOf,
} from './probed.js'
import { OF_ONE_EVENT } from './scenario-deliveries.js'

/** The fault found by deliveries that must be accepted: genuine ones, or kinds without a handler. */
export function faultWithGenuine(probed: Probed, results: readonly SendResult[]): Fault | undefined {
  const { scenario } = probed
  const isDone = handledFlags(probed, results)
  const isKept = areKept(probed, results, isDone)
  const consequence = ofRefusal(scenario, isKept)
  const mayComeAgain = scenario.isBurst && isDone.includes(true)
  const at = placesOf(
    results,
    (result, index) => !isDone[index] && !(mayComeAgain && IN_FLIGHT.includes(statusOf(result))),
  )
  const unanswered = results.find(({ error }) => error !== undefined)
  if (unanswered !== undefined) return { advice: adviceOn(probed, unanswered), consequence, at }
  const parked = results.find(({ response }) => isParked(response))
  if (parked !== undefined) return { advice: adviceOn(probed, parked), consequence: 'undecided', at }
  const redirect = redirectIn(results)
  if (redirect !== undefined) return { advice: adviceOn(probed, redirect), consequence, at }
  const limit = scenario.isBurst ? undefined : faultOfLimit(results)
  if (limit !== undefined || at.length === 0) return limit
  // If copies alone are refused, the fault is that of a duplicate.
  const isOfCopies = isKept && scenario.verdict === 'genuine' && !scenario.isBurst
  return { advice: ADVICE[isOfCopies ? 'duplicate' : scenario.name], consequence, at }
}

/**
 * For each delivery, whether the receiver counts it as handled: by a 2xx, or by a 409 if its event was handled before. That a copy must
 * get a 2xx is for `duplicate` to say: the others would blame it on what they are about.
 */
function handledFlags(
  { scenario: { name }, isOneOrder = false, bodies = [] }: Probed,
  results: readonly SendResult[],
): boolean[] {
  const isKnown = isOneOrder || (OF_ONE_EVENT.includes(name) && isHandled(results[0]?.response))
  const isCopy = (body: string | undefined): boolean =>
    body !== undefined && results.some(({ response }, other) => bodies[other] === body && isHandled(response))
  return results.map((result, index) => {
    if (isHandled(result.response)) return true
    return name !== 'duplicate' && statusOf(result) === CONFLICT && (isKnown || isCopy(bodies[index]))
  })
}

/** Whether each event was accepted at one of its deliveries at least: the service retries the others, and nothing is lost. */
function areKept(
  { bodies = [], isOneOrder = false }: Probed,
  results: readonly SendResult[],
  isDone: readonly boolean[],
): boolean {
  const statuses = results.map(statusOf)
  const keeps = (index: number): boolean =>
    isDone[index] === true || (isOneOrder && statuses[index] === CONFLICT)
  return statuses.every(
    (_, index) =>
      keeps(index) ||
      (bodies[index] !== undefined &&
        statuses.some((_, other) => keeps(other) && bodies[other] === bodies[index])),
  )
}
