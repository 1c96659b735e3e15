import type { ScenarioInfo } from 'tix-webhooks/testing'
import { isSuccessStatus } from '../../internal.js'
import { REFUSED } from './probed.js'

/** How to judge a receiver that does not accept a genuine delivery. */
export interface FailingHandler {
  /** The status that a genuine delivery got. */
  readonly status: number
  /** The fault, and what to do about it. */
  readonly advice: string
  /** Whether its answers to such a scenario say anything. */
  judges(verdict: ScenarioInfo['verdict']): boolean
}

/**
 * Compares the answers to a genuine delivery and to a forgery. Where they differ, it verifies, and it is the handler that fails: what
 * needs no handler can still be tried.
 *
 * @param genuine the status of a genuine delivery that was not handled: if it is a 2xx, it was parked
 * @param forged that of a forgery; undefined if there was no answer
 * @param isMadeUp whether the delivery is of an order that does not exist
 * @returns nothing where all that followed would fail for the same reason, or seem to pass
 */
export function failingHandler(
  genuine: number,
  forged: number | undefined,
  isMadeUp: boolean,
): FailingHandler | undefined {
  const lookUp = isMadeUp
    ? ' If it looks the order up, give one that exists: --data @data.json.'
    : ' Its log has the reason.'
  const isServerError = genuine >= 500
  const isParked = isSuccessStatus(genuine)
  if ((genuine < 400 && !isParked) || genuine === 429 || forged === undefined) return undefined
  if (forged === genuine) {
    if (!isServerError) return undefined
    return {
      status: genuine,
      advice: `It answers ${genuine} to a genuine delivery and to a forgery alike: it fails before it verifies, or does not verify.${lookUp} Apart from this, only forgeries were tried.`,
      judges: (verdict) => verdict === 'forged',
    }
  }
  const answers = isParked
    ? `parks a genuine delivery, and answers ${forged} to a forgery`
    : `answers ${genuine} to a genuine delivery and ${forged} to a forgery`
  const refusal =
    isServerError || isParked ? '' : ' A failing handler should answer 5xx, so that the service retries.'
  const caveat = REFUSED.includes(genuine)
    ? ' Until it does, an accepted forgery looks like a refused one.'
    : ''
  return {
    status: genuine,
    advice: `It ${answers}, so it verifies, and its handler fails.${lookUp}${refusal}${caveat} Apart from this, only probes that need no order were tried.`,
    judges: (verdict) => verdict !== 'genuine',
  }
}
