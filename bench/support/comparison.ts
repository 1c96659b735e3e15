import type { Goal } from './goal.js'
import { type Estimate, type Figures, type Kind, ratioOf } from './rounds.js'

/** A contestant and its figures, round by round. An exact figure is a single one. */
export interface Measured {
  readonly name: string
  readonly figures: Figures
}

/** Ours beside something else. */
export interface Comparison {
  readonly kind: Kind
  readonly ours: Measured
  readonly theirs: Measured
  readonly ratio: Estimate
  readonly goal: Goal | undefined
}

/** Our time, or size, as a multiple of theirs. */
export function timeBeside(ours: Measured, theirs: Measured, goal?: Goal): Comparison {
  return { kind: 'time', ours, theirs, goal, ratio: ratioOf(ours.figures, theirs.figures, 'time') }
}

/** How many times as fast ours is, by its time. */
export function speedBeside(ours: Measured, theirs: Measured, goal?: Goal): Comparison {
  return { kind: 'time', ours, theirs, goal, ratio: ratioOf(theirs.figures, ours.figures, 'time') }
}

/** Our rate as a multiple of theirs. */
export function rateBeside(ours: Measured, theirs: Measured, goal?: Goal): Comparison {
  return { kind: 'rate', ours, theirs, goal, ratio: ratioOf(ours.figures, theirs.figures, 'rate') }
}
