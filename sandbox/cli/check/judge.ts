import type { Secrets } from 'tix-webhooks'
import type { ScenarioInfo } from 'tix-webhooks/testing'
import { hintFor, isHandled, isParked, isSuccessStatus, type SendResult } from '../../internal.js'
import { ACCEPTED, ADVICE } from './advice.js'
import { type AfterSilence, type Consequence, ofAcceptance, ofRefusal, ofSilence } from './consequence.js'
import { OF_ONE_EVENT } from './scenario-deliveries.js'

/** A scenario that was sent, and its target. */
export interface Probed {
  readonly scenario: Pick<ScenarioInfo, 'name' | 'verdict' | 'isBurst'>
  readonly url: string
  readonly timeoutMs: number
  readonly secret: Secrets
  /** Whether all deliveries are of one order, which may have been handled before: then a 409 means that it was. Default false. */
  readonly isOneOrder?: boolean
  /** The status of a genuine delivery, if its handler fails: an answer with this status is no refusal. */
  readonly failsWith?: number | undefined
  /** The bodies of the deliveries, in their order: the same body is the same event. Default: each is an event of its own. */
  readonly bodies?: readonly (string | undefined)[]
  /** How it goes on, if a delivery that must not be accepted was not answered. Default `nothing`. */
  readonly afterSilence?: AfterSilence | undefined
}

/** A fault, what to do about it, and its consequence. */
interface Fault {
  readonly advice: string
  readonly consequence: Consequence
}

/** The result of a scenario. The fault is absent if it passed. */
export interface Judgement extends Partial<Fault> {
  readonly passed: boolean
  /** The answers that it must get, in words. */
  readonly expected: string
  /** The faults that its correct answers do not rule out. */
  readonly note?: string
}

/** The statuses by which a receiver says that a delivery is not genuine. */
export const REFUSED: readonly number[] = [400, 401, 403]

/** Statuses for a delivery that another request is handling: they ask for a retry. */
export const COME_AGAIN: readonly number[] = [409, 425, 429, 503]

/** The status that many receivers give a duplicate. It does not refuse the bytes. */
const CONFLICT = 409

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
  return results.some(({ response }) => isRefusal(response?.status)) ? GIVES_UP : undefined
}

const isRefusal = (status = 0): boolean => status >= 400 && status < 500

const PARKS =
  'It parked this: a 2xx ends the retries, and it keeps the bytes for a replay, so nothing is lost.'

const GIVES_UP =
  'The service is documented to retry a 4xx too, so nothing is lost. Many senders give up at the first one: a 5xx is safer.'

const EXPECTED = {
  genuine: 'each answered 2xx',
  burst: `at least one answered 2xx, the others 2xx, ${COME_AGAIN.join(', ')}`,
  forged: 'each answered 4xx',
  unusable: 'none answered 2xx',
  unknown: 'each answered 2xx',
} as const

function faultOf(probed: Probed, results: readonly SendResult[]): Fault | undefined {
  const { url, timeoutMs, scenario, failsWith } = probed
  const { name, verdict } = scenario
  const hint = (result: SendResult): string => hintFor({ url, timeoutMs, secrets: [] }, result) ?? ''
  const statuses = results.map(({ response }) => response?.status ?? 0)
  const isDone = handledFlags(probed, results)
  const [first] = results
  if (name === 'valid') {
    const advice = first === undefined || isDone[0] ? undefined : faultOfFirst(probed, first)
    return advice === undefined ? undefined : { advice, consequence: 'undecided' }
  }
  const hasStatusClass = (digit: number): boolean =>
    statuses.some((status) => Math.floor(status / 100) === digit)
  const unanswered = results.find(({ error }) => error !== undefined)
  const silence = unanswered === undefined ? undefined : hint(unanswered)
  // An accepted forgery is the worst fault, so it is reported first.
  const accepted = acceptance(probed, results)
  if (accepted !== undefined) {
    const advice = [accepted, ...(silence === undefined ? [] : [silence])].join(' ')
    return { advice, consequence: ofAcceptance(scenario) }
  }
  const isKept = areKept(probed, statuses, isDone)
  const consequence = ofRefusal(scenario, isKept)
  if (unanswered !== undefined && silence !== undefined) {
    return verdict === 'forged' || verdict === 'unusable'
      ? faultOfSilence(probed, unanswered, silence)
      : { advice: silence, consequence }
  }
  if (verdict === 'unusable') return undefined
  const parked = results.find(({ response }) => isParked(response))
  if (parked !== undefined) return { advice: hint(parked), consequence: 'undecided' }
  const redirect = results.find(
    ({ response }) => response !== undefined && response.status >= 300 && response.status < 400,
  )
  if (redirect !== undefined) return { advice: hint(redirect), consequence }
  // If copies alone are refused, the fault is that of a duplicate.
  const advice = ADVICE[isKept && verdict === 'genuine' && !scenario.isBurst ? 'duplicate' : name]
  if (scenario.isBurst) {
    const isFine =
      isDone.includes(true) && statuses.every((status, index) => isDone[index] || COME_AGAIN.includes(status))
    return isFine ? undefined : { advice, consequence }
  }
  if (statuses.includes(429)) {
    return {
      advice: 'It answers 429, which proves nothing: allow more requests while you check.',
      consequence: 'undecided',
    }
  }
  if (verdict !== 'forged') return isDone.includes(false) ? { advice, consequence } : undefined
  if (failsWith !== undefined && !REFUSED.includes(failsWith) && statuses.includes(failsWith)) {
    return {
      advice: `It answers ${failsWith}, as to a genuine delivery: it accepts this as genuine, or fails before it verifies. ${advice}`,
      consequence: ofAcceptance(scenario),
    }
  }
  if (hasStatusClass(5)) {
    return {
      advice: `It answers 5xx, which makes the service retry for 72 hours: answer 4xx. ${advice}`,
      consequence,
    }
  }
  return statuses.every((status) => status >= 400) ? undefined : { advice, consequence }
}

/** For each delivery, whether the receiver counts it as handled: by a 2xx, or by a 409 if its event was sent before. */
function handledFlags(
  { scenario: { name }, isOneOrder = false }: Probed,
  results: readonly SendResult[],
): boolean[] {
  const isKnown = isOneOrder
    ? name !== 'duplicate'
    : OF_ONE_EVENT.includes(name) && isHandled(results[0]?.response)
  return results.map(({ response }) => isHandled(response) || (isKnown && response?.status === CONFLICT))
}

/** Whether each event was accepted at one of its deliveries at least: the service retries the others, and nothing is lost. */
function areKept(
  { bodies = [], isOneOrder = false }: Probed,
  statuses: readonly number[],
  isDone: readonly boolean[],
): boolean {
  const keeps = (index: number): boolean =>
    isDone[index] === true || (isOneOrder && statuses[index] === CONFLICT)
  return statuses.every(
    (_, index) =>
      keeps(index) ||
      (bodies[index] !== undefined &&
        statuses.some((_, other) => keeps(other) && bodies[other] === bodies[index])),
  )
}

/** The fault of no answer to what must not be accepted. */
function faultOfSilence(
  { scenario, afterSilence = 'nothing' }: Probed,
  { error }: SendResult,
  silence: string,
): Fault {
  const consequence = ofSilence(scenario, afterSilence)
  if (consequence === 'crashes') return { advice: silence, consequence }
  const advice =
    consequence === 'harmless'
      ? `It answers no forgery (${error?.code}), and still answers genuine deliveries, so this refuses it too. If that is not on purpose, its log has the reason.`
      : `It did not answer this (${error?.code}), and still answers others: its log has the reason, such as a crash and a restart.`
  return { advice, consequence }
}

/** The advice if a 2xx is the fault. What is unusable may be parked, because then it is not lost. */
function acceptance(
  { scenario: { name, verdict } }: Probed,
  results: readonly SendResult[],
): string | undefined {
  if (verdict === 'unusable') {
    return results.some(({ response }) => isHandled(response)) ? ADVICE[name] : undefined
  }
  const isAccepted = results.some(({ response }) => isSuccessStatus(response?.status ?? 0))
  if (verdict !== 'forged' || !isAccepted) return undefined
  return `${ACCEPTED[name] ?? 'It ACCEPTED A FORGERY.'} ${ADVICE[name]}`
}

/** The fault of the first genuine delivery: every later one would have it too. */
function faultOfFirst({ url, timeoutMs, secret }: Probed, result: SendResult): string | undefined {
  const status = result.response?.status ?? 0
  if (!REFUSED.includes(status)) {
    const hint = hintFor({ url, timeoutMs, secrets: [] }, result)
    return hint && `${hint} Nothing else was tried.`
  }
  return `It refuses a genuine delivery, so nothing else was tried: its secret is not the one${endOf(secret)}, it does not verify the raw body, or its clock is wrong. Its log may have the reason; if not, log the header and the exact body, and try: tix-webhooks verify`
}

/** The last characters of a secret: enough to distinguish two, and too few to leak one. */
function endOf(secret: Secrets): string {
  const newest = Array.isArray(secret) ? secret[0] : secret
  return typeof newest === 'string' && newest.length > 8
    ? ` that ends in ${newest.slice(-4)}`
    : ' that you gave'
}
