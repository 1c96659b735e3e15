import { SCENARIOS } from 'tix-webhooks/testing'

/** The names of all scenarios, in the order in which they are played. */
export const SCENARIO_NAMES: readonly string[] = SCENARIOS.map(({ name }) => name)
