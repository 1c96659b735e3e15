import { times } from './report.js'
import { type Figures, median } from './rounds.js'

/** What a ratio is to reach: no more, or no less, than so many times. */
export type Goal = { readonly atMost: number } | { readonly atLeast: number }

/** The goal as a cell, and whether the median of the rounds reaches it. */
export function judged(ratios: Figures, goal: Goal): readonly [goal: string, verdict: string] {
  const figure = median(ratios)
  const [sign, bound, isReached] =
    'atMost' in goal
      ? ['≤', goal.atMost, figure <= goal.atMost]
      : (['≥', goal.atLeast, figure >= goal.atLeast] as const)
  return [`${sign} ${times(Number(bound))}`, isReached ? 'reached' : 'missed']
}
