import { isHandled, isSuccessStatus, type SendResult } from '../../internal.js'
import { ACCEPTED, ADVICE } from './advice.js'
import { ofAcceptance, ofSilence } from './consequence.js'
import { sayNoEvent } from './no-event.js'
import {
  adviceOn,
  type Fault,
  faultOfLimit,
  type Probed,
  placesOf,
  REFUSED,
  redirectIn,
  statusOf,
  TOO_MANY_REQUESTS,
} from './probed.js'

/** The fault of a receiver that was sent forgeries. */
export function faultWithForged(probed: Probed, results: readonly SendResult[]): Fault | undefined {
  const { scenario, failsWith, repeatsTime = [] } = probed
  const advice = ADVICE[scenario.name]
  const isAccepted = (result: SendResult): boolean => isSuccessStatus(statusOf(result))
  const isLikeGenuine = (result: SendResult): boolean =>
    failsWith !== undefined && !REFUSED.includes(failsWith) && statusOf(result) === failsWith
  const accepted = placesOf(results, (result, index) => isAccepted(result) && !repeatsTime[index])
  // An accepted forgery is the worst fault, so it is reported first.
  if (accepted.length > 0) {
    const fault = `${ACCEPTED[scenario.name] ?? 'It ACCEPTED A FORGERY.'} ${advice}`
    // What else was not refused is shown after it.
    const others = placesOf(results, (result, index) => !isRefusal(result) && !accepted.includes(index))
    return { ...ofAccepted(probed, results, accepted, fault), at: [...accepted, ...others] }
  }
  const silence = faultOfSilence(probed, results)
  if (silence !== undefined) return silence
  const at = placesOf(results, (result) => !isRefusal(result))
  const redirect = redirectIn(results)
  if (redirect !== undefined) return { advice: adviceOn(probed, redirect), consequence: 'harmless', at }
  const limit = faultOfLimit(results)
  if (limit !== undefined) return limit
  const likeGenuine = placesOf(results, (result, index) => isLikeGenuine(result) && !repeatsTime[index])
  if (likeGenuine.length > 0) {
    return {
      advice: `It answers ${failsWith}, as to a genuine delivery: it accepts this as genuine, or fails before it verifies. ${advice}`,
      consequence: ofAcceptance(scenario),
      at: likeGenuine,
    }
  }
  const lenient = placesOf(
    results,
    (result, index) => repeatsTime[index] === true && (isAccepted(result) || isLikeGenuine(result)),
  )
  if (lenient.length > 0) return { advice: SECOND_TIME, consequence: 'lenient', at: lenient }
  if (at.length === 0) return undefined
  const isServerError = results.some((result) => statusOf(result) >= 500)
  return { advice: isServerError ? `${SERVER_ERROR} ${advice}` : advice, consequence: 'harmless', at }
}

const SECOND_TIME =
  'It accepts a header with two t. The signature is valid for the one that it reads, so nobody can make it without the secret. Answer 400 all the same: read exactly one t.'

const SERVER_ERROR = 'It answers 5xx, which makes the service retry for 72 hours: answer 4xx.'

/** The fault found by signed bodies that are no events. They may be parked, because then they are not lost. */
export function faultWithUnusable(probed: Probed, results: readonly SendResult[]): Fault | undefined {
  const { name } = probed.scenario
  const accepted = placesOf(results, ({ response }) => isHandled(response))
  if (accepted.length === 0) return faultOfSilence(probed, results)
  const bodies = accepted.flatMap((index) => probed.bodies?.[index] ?? [])
  const said = name === 'not-an-envelope' && bodies.length > 0 ? `${sayNoEvent(bodies)} ` : ''
  return ofAccepted(probed, results, accepted, `${said}${ADVICE[name]}`)
}

const isRefusal = (result: SendResult): boolean =>
  statusOf(result) >= 400 && statusOf(result) < 500 && statusOf(result) !== TOO_MANY_REQUESTS

/** The fault of a 2xx, with what to do about a delivery that was not answered. */
function ofAccepted(
  probed: Probed,
  results: readonly SendResult[],
  accepted: readonly number[],
  advice: string,
): Fault {
  const silent = placesOf(results, ({ error }) => error !== undefined)
  const hints = silent.slice(0, 1).map((index) => adviceOn(probed, results[index] as SendResult))
  return {
    advice: [advice, ...hints].join(' '),
    consequence: ofAcceptance(probed.scenario),
    at: [...accepted, ...silent],
  }
}

/** The fault of no answer; undefined if all were answered. */
function faultOfSilence(probed: Probed, results: readonly SendResult[]): Fault | undefined {
  const { scenario, afterSilence = 'nothing' } = probed
  const at = placesOf(results, ({ error }) => error !== undefined)
  const unanswered = results.find(({ error }) => error !== undefined)
  if (unanswered === undefined) return undefined
  const consequence = ofSilence(scenario, afterSilence)
  if (consequence === 'crashes') return { advice: adviceOn(probed, unanswered), consequence, at }
  const code = unanswered.error?.code
  const advice =
    consequence === 'harmless'
      ? `It does not answer forgeries (${code}), but still answers genuine deliveries, so this is a refusal too. If that is not on purpose, its log has the reason.`
      : `It did not answer this (${code}), and still answers others: its log has the reason, such as a crash and a restart.`
  return { advice, consequence, at }
}
