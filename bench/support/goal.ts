import { times } from './figures.js'
import type { Estimate } from './rounds.js'

/** The goal for a ratio: at most, or at least, this value. */
export type Goal = { readonly atMost: number } | { readonly atLeast: number }

export function goalText(goal: Goal): string {
  return 'atMost' in goal ? `≤ ${times(goal.atMost)}` : `≥ ${times(goal.atLeast)}`
}

export function isReached(figure: number, goal: Goal): boolean {
  return 'atMost' in goal ? figure <= goal.atMost : figure >= goal.atLeast
}

/** Whether the ratio meets the goal; `close` if parts of the rounds say otherwise. */
export function verdictOf({ value, least, most }: Estimate, goal: Goal): string {
  const verdict = isReached(value, goal) ? 'reached' : 'missed'
  return isReached(least, goal) === isReached(most, goal) ? verdict : `${verdict}, close`
}
