import { type Output, printable, withProgram } from '../terminal/output.js'
import { CONSEQUENCES, type Consequence } from './consequence.js'
import { PROBE_NAMES } from './plan.js'
import type { ProbeResult } from './probe.js'

const WIDTH = Math.max(...PROBE_NAMES.map(({ length }) => length))

/** The head of the results. */
export const RESULTS_HEAD = `      ${'PROBE'.padEnd(WIDTH)}  ANSWERS`

/** The number of probes by result, for `--json`. */
export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly warned: number
  readonly harmless: number
}

/** The counts of what does not fail the check, beside what passed. */
const NO_FAULTS: readonly Consequence[] = ['lenient', 'harmless']

export function countsOf(results: readonly ProbeResult[]): Counts {
  const count = (isSo: (result: ProbeResult) => boolean): number => results.filter(isSo).length
  return {
    passed: count(({ passed }) => passed),
    failed: count(({ passed, consequence = 'undecided' }) => !passed && !NO_FAULTS.includes(consequence)),
    warned: count(({ consequence }) => consequence === 'lenient'),
    harmless: count(({ consequence }) => consequence === 'harmless'),
  }
}

/** `26 of 28 probes passed, 1 warning, 1 differs without harm`. */
export function summaryOf({ passed, failed, warned, harmless }: Counts): string {
  return [
    `${passed} of ${passed + failed + warned + harmless} probes passed`,
    ...(warned === 0 ? [] : [`${warned} ${warned === 1 ? 'warning' : 'warnings'}`]),
    ...(harmless === 0 ? [] : [`${harmless} ${harmless === 1 ? 'differs' : 'differ'} without harm`]),
  ].join(', ')
}

/** `FAIL  stale  200; expected: each answered 4xx: it may accept replays`, and below it what to do. */
export function resultLines(result: ProbeResult, { colors, program }: Output): string {
  const { name, passed, got, expected, advice, consequence = 'undecided', note } = result
  const answers = [...new Set(got)].join(', ')
  if (passed) {
    const ok = `${colors.green('ok  ')}  ${name.padEnd(WIDTH)}  ${answers}`
    return note === undefined ? ok : `${ok}\n${colors.dim(`      ${printable(note)}`)}`
  }
  const then = consequence === 'undecided' ? '' : `: ${CONSEQUENCES[consequence]}`
  return [
    `${markOf(consequence, colors)}  ${name.padEnd(WIDTH)}  ${answers}; expected: ${expected}${then}`,
    ...(advice === undefined ? [] : [`      ${colors.bold(printable(withProgram(advice, program)))}`]),
  ].join('\n')
}

function markOf(consequence: Consequence, colors: Output['colors']): string {
  if (consequence === 'lenient') return colors.magenta('warn')
  return consequence === 'harmless' ? 'diff' : colors.red('FAIL')
}
