import type { Secrets } from 'tix-webhooks'
import type { ScenarioInfo } from 'tix-webhooks/testing'
import { hintFor, type SendResult, withoutSecrets } from '../../internal.js'
import type { AfterSilence, Consequence } from './consequence.js'

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
  /** For each delivery, whether its header is genuine but for a second `t`. Default: none is. */
  readonly repeatsTime?: readonly boolean[]
  /** The deliveries that the receiver answers after a forgery without an answer. Default `nothing`. */
  readonly afterSilence?: AfterSilence | undefined
}

/** A fault, what to do about it, and its consequence. */
export interface Fault {
  readonly advice: string
  readonly consequence: Consequence
  /** The indexes of the deliveries with a wrong answer. */
  readonly at: readonly number[]
}

/** Statuses by which a receiver says that a delivery is not genuine. */
export const REFUSED: readonly number[] = [400, 401, 403]

/** The status of a duplicate in many receivers. It does not mean that the signature is invalid. */
export const CONFLICT = 409

/** It says nothing about the delivery. */
export const TOO_MANY_REQUESTS = 429

/** The status of an answer; 0 if there is none. */
export const statusOf = ({ response }: SendResult): number => response?.status ?? 0

/** The places of the answers that are so. */
export function placesOf(
  results: readonly SendResult[],
  isSo: (result: SendResult, index: number) => boolean,
): number[] {
  return results.flatMap((result, index) => (isSo(result, index) ? [index] : []))
}

/** The advice for a failure, or for a request without an answer. */
export function adviceOn({ url, timeoutMs, secret }: Probed, result: SendResult): string {
  const secrets = [secret].flat().filter((one) => typeof one === 'string')
  return withoutSecrets(hintFor({ url, timeoutMs, secrets: [] }, result) ?? '', secrets)
}

/** The first answer that is a redirect. */
export function redirectIn(results: readonly SendResult[]): SendResult | undefined {
  return results.find((result) => statusOf(result) >= 300 && statusOf(result) < 400)
}

/** The fault if it limits requests; undefined if it does not. */
export function faultOfLimit(results: readonly SendResult[]): Fault | undefined {
  const at = placesOf(results, (result) => statusOf(result) === TOO_MANY_REQUESTS)
  if (at.length === 0) return undefined
  return {
    advice: 'It answers 429, which proves nothing: allow more requests while you check.',
    consequence: 'undecided',
    at,
  }
}
