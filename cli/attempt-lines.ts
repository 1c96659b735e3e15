import { isSuccess } from './check/judge.js'
import type { AnswerView, AttemptView } from './control-api.js'
import { sayDuration } from './durations.js'
import { remarkOn } from './judge-scenario.js'
import { type Output, oneLine, printable } from './output.js'

/** What a line tells of an attempt, wherever the attempt comes from. */
export interface ToldAttempt {
  readonly url: string
  readonly scenario?: string | undefined
  /** What was sent, where that is told. */
  readonly body?: string | undefined
  readonly response?: AnswerView | undefined
  readonly error?: { readonly code: string; readonly message: string } | undefined
  readonly durationMs: number
  readonly hint?: string | undefined
}

/** An attempt of the control API, as a line tells it. */
export function toldAttempt(attempt: AttemptView): ToldAttempt {
  return { ...attempt, body: attempt.request.body, durationMs: attempt.duration_ms }
}

/** How much of an answer is shown beside its status. */
export const MAX_ANSWER = 80

/** `<-- [500] POST url [dlv_…] 12 ms`, what follows, what was answered, and what to do about it. */
export function attemptLine(
  attempt: ToldAttempt,
  { colors }: Output,
  {
    delivery,
    next,
    withAnswer = true,
  }: { delivery?: string | undefined; next?: string | undefined; withAnswer?: boolean } = {},
): string {
  const { response, error, scenario } = attempt
  const remark = remarkOn(attempt)
  const paint = (remark?.isRight ?? isDelivered(attempt)) ? colors.green : colors.red
  // Of what was spoilt on purpose, a refusal needs no cure.
  const hint = remark?.isRight
    ? undefined
    : (attempt.hint ?? (response === undefined ? error?.message : undefined))
  const answer = withAnswer ? oneLine(response?.body ?? '', MAX_ANSWER) : ''
  const parts = [
    paint(`<-- [${printable(String(response?.status ?? error?.code ?? 'no answer'))}]`),
    `POST ${printable(attempt.url)}`,
    ...(delivery === undefined ? [] : [`[${delivery}]`]),
    ...(scenario === undefined ? [] : [colors.magenta(scenario)]),
    sayDuration(attempt.durationMs),
    ...(remark === undefined ? [] : [paint(remark.says)]),
    ...(next === undefined ? [] : [colors.yellow(next)]),
    ...(answer === '' ? [] : [colors.dim(answer)]),
  ]
  return `${parts.join(' ')}${hint === undefined ? '' : `\n    ${colors.dim(printable(hint))}`}`
}

/** Whether the endpoint took it. */
export function isDelivered({ response }: Pick<ToldAttempt, 'response'>): boolean {
  return response !== undefined && isSuccess(response.status)
}
