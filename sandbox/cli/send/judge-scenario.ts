import { SCENARIOS, type ScenarioInfo, type ScenarioName } from 'tix-webhooks/testing'
import { IN_FLIGHT, isDebatable, isHandled, isParked, isSuccessStatus } from '../../internal.js'
import { judge } from '../check/judge.js'
import type { AttemptSummary } from '../client/attempt-summary.js'
import type { Output } from '../terminal/output.js'

/** Whether a scenario got the expected answers. */
export interface ScenarioJudgement {
  readonly scenario: string
  readonly passed: boolean
  /** The answers that it must get, in words. */
  readonly expected: string
  /** The advice; absent if it passed, and if the attempts have hints of their own. */
  readonly advice?: string
}

/** One answer to a scenario. */
export interface Remark {
  readonly isRight: boolean
  readonly says: string
}

/** Why a delivery must be refused that is no forgery. */
const WHY_REFUSE: { readonly [Name in ScenarioName]?: string } = {
  stale: 'is a replay',
  future: 'was signed in the future',
  'malformed-header': 'has a malformed header',
}

const infoOf = (name: string): ScenarioInfo | undefined => SCENARIOS.find((known) => known.name === name)

/** Judges the answers to one scenario, as `check` does. A name that is not known passes: a newer sandbox may have it. */
export function judgeScenario(name: string, attempts: readonly AttemptSummary[]): ScenarioJudgement {
  const scenario = infoOf(name)
  if (scenario === undefined) return { scenario: name, passed: true, expected: 'not known here' }
  const judged = attempts.filter(({ body }) => !isDebatable(name, body))
  const results = judged.map(({ response, error }) =>
    response === undefined
      ? { error: error ?? { code: 'no_answer', message: 'there was no answer' } }
      : { response },
  )
  const url = attempts[0]?.url ?? 'http://localhost'
  const bodies = judged.map(({ body }) => body)
  const { passed, expected, advice } = judge({ scenario, url, timeoutMs: 0, secret: [], bodies }, results)
  const isSaid =
    name === 'valid' || results.some(({ response, error }) => error !== undefined || isParked(response))
  return { scenario: name, passed, expected, ...(advice !== undefined && !isSaid && { advice }) }
}

/** Says how a scenario went: `ok    stale: each answered 4xx, as it should be`. */
export function printJudgement(judgement: ScenarioJudgement, out: Output): void {
  const { scenario, passed, expected, advice } = judgement
  const lines = passed
    ? [`${out.colors.green('ok  ')}  ${scenario}: ${expected}, as it should be`]
    : [
        `${out.colors.red('FAIL')}  ${scenario}; expected: ${expected}`,
        ...(advice ? [`      ${out.colors.bold(advice)}`] : []),
      ]
  out.print(judgement, lines.join('\n'))
}

/** The line for one answer to a scenario: a refusal of a forgery is not marked as a fault. */
export function remarkOn({
  scenario,
  response,
  body,
}: Pick<AttemptSummary, 'scenario' | 'response' | 'body'>): Remark | undefined {
  const info = scenario === undefined ? undefined : infoOf(scenario)
  if (info === undefined || response === undefined || isDebatable(info.name, body)) return undefined
  const { status } = response
  if (info.verdict === 'forged') {
    if (isSuccessStatus(status))
      return { isRight: false, says: `accepted, though it ${WHY_REFUSE[info.name] ?? 'is a forgery'}` }
    return status >= 400 && status < 500 && status !== 429
      ? { isRight: true, says: 'refused, as it should be' }
      : undefined
  }
  if (info.verdict === 'unusable') {
    if (isHandled(response)) return { isRight: false, says: 'acknowledged, though it is unusable' }
    return {
      isRight: true,
      says: isParked(response) ? 'kept, as it should be' : 'not acknowledged, as it should be',
    }
  }
  return info.isBurst && IN_FLIGHT.includes(status)
    ? { isRight: true, says: 'asked for a retry, as it may' }
    : undefined
}
