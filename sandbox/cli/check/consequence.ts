import type { ScenarioInfo } from 'tix-webhooks/testing'
import { ACCEPTED } from './advice.js'

/** The consequences of a fault, as they are printed. */
export const CONSEQUENCES = {
  accepts_forgeries: 'it accepts forgeries',
  accepts_replays: 'it may accept replays',
  loses_events: 'it loses events',
  crashes: 'a single request can stop it',
  retries_in_vain: 'the service retries in vain',
  lenient: 'lenient, but nobody can send it without the secret',
  harmless: 'harmless',
} as const

/**
 * The consequence of a fault. `lenient`: what it accepts should be refused, but is no attack; `harmless`: the status differs from the
 * usual one, and nothing follows from that; `undecided`: the answers do not show one.
 */
export type Consequence = keyof typeof CONSEQUENCES | 'undecided'

type Scenario = Pick<ScenarioInfo, 'name' | 'verdict'>

/**
 * The deliveries that a receiver answers after one that it left without an answer: none; genuine ones, but no forgery; or other forgeries
 * too.
 */
export type AfterSilence = 'nothing' | 'no_forgery' | 'others'

/** The consequence of a 2xx where none is due. */
export function ofAcceptance({ name, verdict }: Scenario): Consequence {
  if (verdict === 'unusable') return 'loses_events'
  return name in ACCEPTED ? 'accepts_replays' : 'accepts_forgeries'
}

/**
 * The consequence of a refusal where a 2xx is due.
 *
 * @param isKept whether each event was accepted at another of its deliveries: then nothing is lost
 */
export function ofRefusal({ verdict }: Scenario, isKept: boolean): Consequence {
  return isKept || verdict === 'unknown' ? 'retries_in_vain' : 'loses_events'
}

/**
 * The consequence of no answer to a delivery that must be refused. Closing the connection on each forgery is a way to refuse them; on some of
 * them, it may be a crash and a restart.
 */
export function ofSilence({ verdict }: Scenario, after: AfterSilence): Consequence {
  if (after === 'nothing') return 'crashes'
  return verdict === 'forged' && after === 'no_forgery' ? 'harmless' : 'undecided'
}
