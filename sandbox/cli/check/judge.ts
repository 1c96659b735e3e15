import type { Secrets } from 'tix-webhooks'
import { IN_FLIGHT, isHandled, isParked, type SendResult } from '../../internal.js'
import { faultWithGenuine } from './genuine.js'
import { adviceOn, CONFLICT, type Fault, type Probed, REFUSED, statusOf } from './probed.js'
import { faultWithForged, faultWithUnusable } from './unacceptable.js'

/** The result of a scenario. The fault is absent if it passed. */
export interface Judgement extends Partial<Fault> {
  readonly passed: boolean
  /** The answers that it must get, in words. */
  readonly expected: string
  /** The faults that its correct answers do not rule out. */
  readonly note?: string
}

/**
 * Judges the answers of a receiver in any language, by the meaning of statuses alone: 2xx is done, 4xx refused, 5xx retry.
 * Only the outcome `parked` of our receivers is read too: its 2xx does not say that the event was handled.
 *
 * @param results in the order of the deliveries; fewer if the scenario was stopped early
 */
export function judge(probed: Probed, results: readonly SendResult[]): Judgement {
  const { verdict, isBurst } = probed.scenario
  const expected = isBurst ? EXPECTED.burst : EXPECTED[verdict]
  const fault = faultOf(probed, results)
  if (fault !== undefined) return { passed: false, expected, ...fault }
  const note = verdict === 'unusable' ? noteOnUnusable(results) : undefined
  return { passed: true, expected, ...(note !== undefined && { note }) }
}

function noteOnUnusable(results: readonly SendResult[]): string | undefined {
  if (results.some(({ response }) => isParked(response))) return PARKS
  return results.some((result) => statusOf(result) >= 400 && statusOf(result) < 500) ? GIVES_UP : undefined
}

const PARKS =
  'It parked this: a 2xx ends the retries, and it keeps the bytes for a replay, so nothing is lost.'

const GIVES_UP =
  'The service is documented to retry a 4xx too, so nothing is lost. Many senders give up at the first one: a 5xx is safer.'

const EXPECTED = {
  genuine: 'each answered 2xx',
  burst: `at least one answered 2xx, the others 2xx, ${IN_FLIGHT.join(', ')}`,
  forged: 'each answered 4xx',
  unusable: 'none answered 2xx',
  unknown: 'each answered 2xx',
} as const

function faultOf(probed: Probed, results: readonly SendResult[]): Fault | undefined {
  const { name, verdict } = probed.scenario
  if (name === 'valid') return faultOfFirst(probed, results)
  if (verdict === 'forged') return faultWithForged(probed, results)
  return verdict === 'unusable' ? faultWithUnusable(probed, results) : faultWithGenuine(probed, results)
}

/** The fault of the first genuine delivery: every later one would have it too. */
function faultOfFirst(probed: Probed, [first]: readonly SendResult[]): Fault | undefined {
  if (first === undefined || isHandled(first.response)) return undefined
  if (probed.isOneOrder && statusOf(first) === CONFLICT) return undefined
  const hint = adviceOn(probed, first)
  const advice = REFUSED.includes(statusOf(first))
    ? `It refuses a genuine delivery, so nothing else was tried: its secret is not the one${endOf(probed.secret)}, it does not verify the raw body, or its clock is wrong. Its log may have the reason; if not, log the header and the exact body, and try: tix-webhooks verify`
    : `${hint} Nothing else was tried.`
  return { advice, consequence: 'undecided', at: [0] }
}

/** The last characters of a secret: enough to distinguish two, and too few to leak one. */
function endOf(secret: Secrets): string {
  const newest = Array.isArray(secret) ? secret[0] : secret
  return typeof newest === 'string' && newest.length > 8
    ? ` that ends in ${newest.slice(-4)}`
    : ' that you gave'
}
