import { times } from './figures.js'
import { type Figures, median } from './rounds.js'

/** The goal for a ratio: at most, or at least, this value. */
export type Goal = { readonly atMost: number } | { readonly atLeast: number }

/** The goal as a cell, and whether the median of the rounds meets it. */
export function judged(ratios: Figures, goal: Goal): readonly [goal: string, verdict: string] {
  const figure = median(ratios)
  const [sign, bound, isReached] =
    'atMost' in goal
      ? ['≤', goal.atMost, figure <= goal.atMost]
      : (['≥', goal.atLeast, figure >= goal.atLeast] as const)
  return [`${sign} ${times(Number(bound))}`, isReached ? 'reached' : 'missed']
}
