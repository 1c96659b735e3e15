import { SCENARIOS, type ScenarioInfo } from 'tix-webhooks/testing'
import type { Attempt, AttemptResponse, Message } from '../../engine/record/records.js'
import { isHandled } from '../../lib/outcome-of.js'

/** The answer that a delivery of a scenario expects. */
export interface ExpectedAnswer {
  /** In words. */
  readonly says: string
  isMet(answer: AttemptResponse): boolean
}

const EXPECTED: Readonly<Record<ScenarioInfo['verdict'], ExpectedAnswer>> = {
  genuine: { says: '2xx', isMet: isHandled },
  unknown: { says: '2xx', isMet: isHandled },
  forged: { says: '4xx', isMet: ({ status }) => status >= 400 && status < 500 && status !== 429 },
  unusable: { says: 'anything but 2xx, unless it is parked', isMet: (answer) => !isHandled(answer) },
}

/** Statuses for a delivery while another one of the same event is being handled. */
export const IN_FLIGHT: readonly number[] = [409, 425, 429, 503]

const OF_A_BURST: ExpectedAnswer = {
  says: `2xx, or ${IN_FLIGHT.slice(0, -1).join(', ')} or ${IN_FLIGHT.at(-1)} while another one is handled`,
  isMet: (answer) => isHandled(answer) || IN_FLIGHT.includes(answer.status),
}

/** A scenario by its name; undefined if there is none. */
export function scenarioNamed(name: string | undefined): ScenarioInfo | undefined {
  return SCENARIOS.find((scenario) => scenario.name === name)
}

/** The answer that each delivery of a scenario expects. */
export function expectedAnswer({ isBurst, verdict }: ScenarioInfo): ExpectedAnswer {
  return isBurst ? OF_A_BURST : EXPECTED[verdict]
}

/** Whether an attempt of a scenario got the answer that it expects. */
export function isRight(scenario: ScenarioInfo, attempt: Attempt, message: Message): boolean {
  const { response, sentBody = message.body } = attempt
  return (
    response !== undefined &&
    (isDebatable(scenario.name, sentBody) || expectedAnswer(scenario).isMet(response))
  )
}

/** Whether all answers to a scenario are right; to a burst, one of them must also say that the event is handled. */
export function passes(name: string, attempts: readonly Attempt[], message: Message): boolean {
  const scenario = scenarioNamed(name)
  return (
    scenario !== undefined &&
    attempts.every((attempt) => isRight(scenario, attempt, message)) &&
    (!scenario.isBurst || attempts.some(({ response }) => isHandled(response)))
  )
}

/** Whether a correct receiver may accept it as well as refuse it: an event that lacks `created_at` alone, which not every handler needs. */
export function isDebatable(scenario: string, body: string | undefined): boolean {
  return scenario === 'not-an-envelope' && body !== undefined && lacksDateAlone(body)
}

function lacksDateAlone(body: string): boolean {
  try {
    const { type, created_at, data } = Object(JSON.parse(body)) as Partial<Record<string, unknown>>
    return typeof type === 'string' && type !== '' && created_at === undefined && isObject(data)
  } catch {
    return false
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
