import { type EventKind, isKnownEvent } from '../../src/index.js'
import { checkOptionNames, describeType, describeValue } from '../../src/internal.js'
import { sampleEvent } from '../deliveries/sample-event.js'
import { createFixture, type ScenarioOptions, type ScenarioSigning, type ScenarioSource } from './fixture.js'
import { GENUINE, REPEATED } from './genuine.js'
import { REFUSED, UNUSABLE } from './refused.js'
import {
  createScenario,
  type Scenario,
  type ScenarioEntry,
  type ScenarioInfo,
  type ScenarioName,
} from './scenario.js'

const SIGNING_OPTION_NAMES: readonly (keyof ScenarioSigning)[] = [
  'secret',
  'signature',
  'now',
  'toleranceSeconds',
]

/** The scenarios whose deliveries must not get a 2xx. */
const NOT_ACKNOWLEDGED: readonly ScenarioEntry[] = [...REFUSED, ...UNUSABLE]

/** First the genuine deliveries, then the refused and the unusable ones, then the repeated ones. */
const TABLE: readonly ScenarioEntry[] = [...GENUINE, ...NOT_ACKNOWLEDGED, ...REPEATED]

/**
 * All scenarios, without their deliveries: `scenarios` and `makeScenario` make those.
 *
 * @example
 * ```ts
 * import { makeScenario, SCENARIOS, sampleEvent } from 'tix-webhooks/testing'
 *
 * const body = JSON.stringify(sampleEvent('order.created'))
 * for (const { name, verdict } of SCENARIOS) {
 *   if (verdict !== 'forged') continue
 *   const { deliveries } = await makeScenario(name, { body, secret: 'whsec_test' })
 *   console.assert(deliveries.length > 0)
 * }
 * ```
 */
export const SCENARIOS: readonly ScenarioInfo[] = TABLE

/** Scenarios with events of your own, of any kind. */
export function scenarios(
  kind: string,
  options: ScenarioOptions & Pick<ScenarioSource, 'body'>,
): Promise<readonly Scenario[]>
/**
 * Deliveries of the service on a good and on a bad day, of a bad network, and of attackers, each with the expected answer: indented JSON,
 * half a megabyte, a body in chunks, a tampered byte, a stale signature, a burst of duplicates. Each describes what it sends and which
 * fault it finds. Loop over them against your own app. With `only: 'refused'`, they are the deliveries that it must refuse.
 *
 * The scenarios are independent of each other, in any order: each event that must run is a new one, on every call. `extra-fields` and
 * `thin` change its data, and a schema of yours must accept that too. If your app has an `onUnhandled`, it gets the events of unknown kinds.
 *
 * @param kind a kind that your app handles
 * @returns the scenarios that suit events of the kind, in the order of `SCENARIOS`
 * @throws TypeError that names the option that is wrong
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { scenarios } from 'tix-webhooks/testing'
 *
 * const secret = 'whsec_test'
 * let runs = 0
 * const POST = tixWebhooks({ secret, on: { 'order.created': () => void runs++ }, onError: () => {} })
 *
 * for (const { name, deliver, expect } of await scenarios('order.created', { secret })) {
 *   runs = 0
 *   const answers = await deliver((delivery) => POST(delivery.toRequest('/hooks')))
 *   console.assert(answers.every(({ status }) => expect.statuses.includes(status)) && runs === expect.runs, name)
 * }
 * ```
 */
export function scenarios(kind: EventKind, options: ScenarioOptions): Promise<readonly Scenario[]>
export async function scenarios(kind: string, options: ScenarioOptions): Promise<readonly Scenario[]> {
  options = checkOptionNames(options, [...SIGNING_OPTION_NAMES, 'body', 'only'])
  const { body = () => JSON.stringify(sampleEvent(kind as EventKind)), only, ...signing } = options
  if (options.body === undefined && !isKnownEvent({ type: kind })) {
    throw new TypeError(`body is missing: there are no samples of ${describeValue(kind)}.`)
  }
  const { event, next } = sourceOf(body)
  if (event.type !== kind) {
    throw new TypeError(
      `body must be the JSON of an event of kind ${kind}, not ${describeValue(event.type)}.`,
    )
  }
  const fixture = await createFixture(kind, next, signing)
  const made: Scenario[] = []
  for (const entry of entriesOf(only)) if (entry.suits(event)) made.push(await createScenario(entry, fixture))
  return made
}

function entriesOf(only: unknown): readonly ScenarioEntry[] {
  if (only === undefined) return TABLE
  if (only === 'refused') return NOT_ACKNOWLEDGED
  throw new TypeError(
    `only must be "refused", or left out for all scenarios, not ${describeValue(only)}. makeScenario makes a single one by its name.`,
  )
}

/**
 * Makes one scenario from an event of your own.
 *
 * @param name of the scenario, such as `stale`; `SCENARIOS` lists them all
 * @returns the scenario with its deliveries. Its `expect.runs` is right if `body` returns a new event at each call
 * @throws TypeError when there is no such scenario, the event does not suit it, or an option is invalid
 * @example
 * ```ts
 * import { makeScenario, sampleEvent } from 'tix-webhooks/testing'
 *
 * const body = JSON.stringify(sampleEvent('order.created'))
 * const { deliver } = await makeScenario('stale', { body, secret: 'whsec_test' })
 * const [answer] = await deliver((delivery) => fetch('http://localhost:3000/hooks', delivery))
 * console.assert(answer?.status === 401)
 * ```
 */
export async function makeScenario(
  name: ScenarioName | (string & {}),
  source: ScenarioSource,
): Promise<Scenario> {
  const entry = scenarioEntry(name)
  const { body, ...signing } = checkOptionNames(source, ['body', ...SIGNING_OPTION_NAMES])
  const { event, next } = sourceOf(body)
  if (!entry.suits(event)) {
    throw new TypeError(
      `There is no ${entry.name} of this ${event.type}: it needs an event.* whose data.event.id is a string.`,
    )
  }
  return createScenario(entry, await createFixture(event.type, next, signing))
}

/** The first event of a source, and a function that returns them all: the first is sent too, as a source may have only a few. */
function sourceOf(body: ScenarioSource['body']) {
  const more = typeof body === 'function' ? body : () => body
  let first: string | undefined = more()
  const event = readEvent(first)
  const next = (): string => {
    const text = first ?? more()
    first = undefined
    return text
  }
  return { event, next }
}

/** @throws TypeError that lists the names */
function scenarioEntry(name: string): ScenarioEntry {
  const entry = TABLE.find((one) => one.name === name)
  if (entry !== undefined) return entry
  const names = TABLE.map((one) => one.name).join(', ')
  throw new TypeError(`There is no scenario ${describeValue(name)}. The scenarios are ${names}.`)
}

/** Reads the fields that every scenario needs. */
function readEvent(body: unknown): { type: string; data: unknown } {
  if (typeof body !== 'string') {
    throw new TypeError(`body must be a string, the JSON of an event, not ${describeType(body)}.`)
  }
  const { type, created_at, data } = parsed(body)
  if (typeof type === 'string' && type !== '' && !Number.isNaN(Date.parse(String(created_at)))) {
    return { type, data }
  }
  throw new TypeError('body must be the JSON of a genuine event, with a type, a created_at and data.')
}

function parsed(body: string): { type?: unknown; created_at?: unknown; data?: unknown } {
  try {
    return (JSON.parse(body) as object | null) ?? {}
  } catch {
    return {}
  }
}
