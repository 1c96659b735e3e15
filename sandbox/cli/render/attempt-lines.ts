import { firstWords, isHandled, isParked, outcomeOf, quoted } from '../../internal.js'
import { sayDuration } from '../arguments/durations.js'
import type { AttemptSummary } from '../client/attempt-summary.js'
import { remarkOn } from '../send/judge-scenario.js'
import { line } from '../terminal/layout.js'
import { type Output, oneLine, printable } from '../terminal/output.js'

/** Details of a line beside the attempt itself. */
export interface LineOptions {
  /** The id of its delivery. */
  readonly delivery?: string | undefined
  /** When it was: `12:00:05`. */
  readonly time?: string | undefined
  /** The number of the attempt: `attempt 2/11`. */
  readonly count?: string | undefined
  /** The next step: `retry in 5 s`. */
  readonly next?: string | undefined
  /** Whether the answer's text is shown too. Default true. */
  readonly withAnswer?: boolean
  /** Hints printed before, which are not repeated. Default: each is printed. */
  readonly hints?: Hints
}

/** Returns a hint unless it was the last one for this URL; then undefined. */
export type Hints = (url: string, hint: string | undefined) => string | undefined

/** How much of an answer is shown. */
export const MAX_ANSWER = 80
/** URLs whose latest hint is known. */
const MAX_HINTS = 1000
const INDENT = '    '

export function hintsOnce(): Hints {
  const latest = new Map<string, string | undefined>()
  return (url, hint) => {
    const isSaid = hint !== undefined && latest.get(url) === hint
    if (latest.size >= MAX_HINTS) latest.clear()
    latest.set(url, hint)
    return isSaid ? undefined : hint
  }
}

/** `12:00:05 <-- [500] failed POST url [dlv_…] attempt 1/11, 12 ms, retry in 5 s`, and below it what was answered, and what to do. */
export function attemptLine(
  attempt: AttemptSummary,
  { colors, columns }: Output,
  options: LineOptions = {},
): string {
  const { delivery, time, count, next, withAnswer = true, hints = (_url, hint) => hint } = options
  const { response, error, scenario, url } = attempt
  const remark = remarkOn(attempt)
  const isRight = remark?.isRight ?? isHandled(response)
  const paint = isRight ? colors.green : isParked(response) ? colors.magenta : colors.red
  // The refusal of a forgery needs no fix.
  const hint = remark?.isRight
    ? undefined
    : hints(url, attempt.hint ?? (response === undefined ? error?.message : undefined))
  const outcome = outcomeOf(response?.body ?? '')
  const words = response && firstWords(response)
  const isQuoted = words !== undefined && hint?.includes(quoted(words)) === true
  const isShown = withAnswer && outcome === undefined && !isQuoted
  const answer = isShown ? oneLine(response?.body ?? '', MAX_ANSWER) : ''
  const pieces = [
    ...(time === undefined ? [] : [{ text: colors.dim(time) }]),
    { text: paint(`<-- [${printable(String(response?.status ?? error?.code ?? 'no answer'))}]`) },
    ...(outcome === undefined ? [] : [{ text: paint(outcome), ...(outcome === 'failed' && { drop: 1 }) }]),
    { text: `POST ${printable(url)}`, drop: 3 },
    ...(delivery === undefined ? [] : [{ text: `[${delivery}]` }]),
    ...(scenario === undefined ? [] : [{ text: colors.magenta(scenario) }]),
    ...(count === undefined ? [] : [{ text: count }]),
    { text: colors.dim(sayDuration(attempt.durationMs)), drop: 2 },
    ...(remark === undefined ? [] : [{ text: paint(remark.says) }]),
    ...(next === undefined ? [] : [{ text: colors.magenta(next) }]),
  ]
  const indent = time === undefined ? INDENT : ' '.repeat(time.length + 1) + INDENT
  return [
    line(pieces, columns),
    ...(answer === '' ? [] : [`${indent}${colors.dim(`answered: ${answer}`)}`]),
    ...(hint === undefined ? [] : [`${indent}${colors.bold(printable(hint))}`]),
  ].join('\n')
}
