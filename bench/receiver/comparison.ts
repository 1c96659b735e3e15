import { short, spread, times } from '../support/figures.js'
import { type Goal, judged } from '../support/goal.js'
import { type Figures, ratios } from '../support/rounds.js'

/** A contestant and its time in microseconds, round by round. */
export interface Timed {
  readonly name: string
  readonly figures: Figures
}

/** A note that every such table needs. */
export const PROCESSOR_TIME =
  "Microseconds of the processor's time, with the garbage that was made: other processes have no part in it, as they would in the time by the clock."

/** The columns of `timeBeside` and `speedBeside`. */
export const COMPARISON_COLUMNS = ['what', 'µs', 'beside', 'µs', 'ratio', 'goal', ''] as const

/** A row: the time of the first as a multiple of the second's. */
export function timeBeside(first: Timed, second: Timed, goal?: Goal): string[] {
  return row(first, second, ratios(first.figures, second.figures), goal)
}

/** A row: how many times faster the first is. */
export function speedBeside(first: Timed, second: Timed, goal?: Goal): string[] {
  return row(first, second, ratios(second.figures, first.figures), goal)
}

function row(first: Timed, second: Timed, ratio: Figures, goal: Goal | undefined): string[] {
  return [
    first.name,
    spread(first.figures, short),
    second.name,
    spread(second.figures, short),
    spread(ratio, times),
    ...(goal === undefined ? ['none', ''] : judged(ratio, goal)),
  ]
}
