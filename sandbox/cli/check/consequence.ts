import type { ScenarioInfo } from 'tix-webhooks/testing'
import { ACCEPTED } from './advice.js'

/** The consequences of a fault, as they are printed. */
export const CONSEQUENCES = {
  accepts_forgeries: 'it accepts forgeries',
  accepts_replays: 'it may accept replays',
  loses_events: 'it loses events',
  crashes: 'a single request can stop it',
  retries_in_vain: 'the service retries in vain',
  harmless: 'harmless',
} as const

/**
 * The consequence of a fault. `harmless`: the status differs from the usual one, and nothing follows from that; `undecided`: the
 * answers do not show one.
 */
export type Consequence = keyof typeof CONSEQUENCES | 'undecided'

type Scenario = Pick<ScenarioInfo, 'name' | 'verdict'>

/** Genuine deliveries of which nothing is lost if they are refused: they were handled before. */
const HANDLED_BEFORE = 'duplicate'

/** The consequence of a 2xx where none is due. */
export function ofAcceptance({ name, verdict }: Scenario): Consequence {
  if (verdict === 'unusable') return 'loses_events'
  return name in ACCEPTED ? 'accepts_replays' : 'accepts_forgeries'
}

/** The consequence of a wrong status that is no 2xx. */
export function ofRefusal({ name, verdict }: Scenario): Consequence {
  if (verdict === 'forged') return 'harmless'
  return name === HANDLED_BEFORE || verdict === 'unknown' ? 'retries_in_vain' : 'loses_events'
}

/** The consequence of no answer at all. */
export function ofSilence(scenario: Scenario): Consequence {
  const { verdict } = scenario
  return verdict === 'forged' || verdict === 'unusable' ? 'crashes' : ofRefusal(scenario)
}
