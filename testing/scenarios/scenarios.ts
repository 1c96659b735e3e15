import type { EventKind } from '../../src/index.js'
import { describeType, describeValue } from '../../src/lib/describe-type.js'
import { checkOptionNames } from '../../src/lib/option-names.js'
import type { AnyOptions, ExactOptions, SampleOptions, Undocumented } from '../deliveries/sample-event.js'
import { type AttackOptions, sampleStage } from '../deliveries/sample-fixture.js'
import { type StageOptions, setStage } from './fixture.js'
import { FORGED, UNUSABLE } from './forged.js'
import { HONEST_REPETITIONS, HONEST_VARIATIONS } from './genuine.js'
import {
  type Scenario,
  type ScenarioEntry,
  type ScenarioInfo,
  type ScenarioName,
  staged,
} from './scenario.js'

/** What a scenario is made from: genuine events of your own, and how the service signs them. */
export interface ScenarioSource extends StageOptions {
  /** The JSON of a genuine event; or a function that gives that of another one, of the same kind, each time. */
  body: string | (() => string)
}

const SOURCE_OPTION_NAMES: readonly (keyof ScenarioSource)[] = [
  'body',
  'secret',
  'signature',
  'now',
  'toleranceSeconds',
]

/** What may come to an endpoint, and what is owed to it: first what the service itself sends, then what others forge, then repetitions. */
const TABLE: readonly ScenarioEntry[] = [...HONEST_VARIATIONS, ...FORGED, ...UNUSABLE, ...HONEST_REPETITIONS]

/** All scenarios there are, and what they are for. `scenarios` and `makeScenario` make their deliveries. */
export const SCENARIOS: readonly ScenarioInfo[] = TABLE

/** Scenarios with events of any kind, with their data as you give it. */
export function scenarios(
  kind: string,
  options: AttackOptions & Pick<ExactOptions<object>, 'data'> & { exact: true },
): Promise<readonly Scenario[]>
/** Scenarios with events of any kind, with their data as you give it. */
export function scenarios<Kind extends string>(
  kind: Kind & Undocumented<Kind>,
  options: AttackOptions & Pick<ExactOptions<object>, 'data' | 'exact'>,
): Promise<readonly Scenario[]>
/**
 * The attacks, and before them what the service itself may send and few receivers expect: indented JSON, odd text, fields that are
 * not documented, half a megabyte, a body in chunks. Each says what it does and which fault it finds. Loop over them as over
 * `attacks`, in whatever order.
 *
 * Those whose data is not what you give, `extra-fields` and `thin`, are meant for a schema of yours too: the payloads of `event.*`
 * are not documented.
 *
 * @param kind a kind that your app handles
 * @returns all scenarios that events of the kind can play
 * @throws TypeError that names the field or the option that is wrong
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { scenarios } from 'tix-webhooks/testing'
 *
 * const secret = 'whsec_test'
 * let runs = 0
 * const POST = tixWebhooks({ secret, on: { 'order.created': () => void runs++ }, onError: () => {} })
 *
 * for (const { name, description, deliver, expect } of await scenarios('order.created', { secret })) {
 *   runs = 0
 *   const answers = await deliver((delivery) => POST(delivery.toRequest('/hooks')))
 *   const isWithstood = answers.every(({ status }) => expect.statuses.includes(status)) && runs === expect.runs
 *   console.assert(isWithstood, `${name}: ${description}`)
 * }
 * ```
 */
export function scenarios<Kind extends EventKind>(
  kind: Kind,
  options: AttackOptions & Pick<SampleOptions<Kind>, 'data' | 'exact'>,
): Promise<readonly Scenario[]>
export async function scenarios(
  kind: string,
  options: AttackOptions & Pick<AnyOptions, 'data' | 'exact'>,
): Promise<readonly Scenario[]> {
  const stage = await sampleStage(kind, options)
  const event = JSON.parse(stage.event())
  const made: Scenario[] = []
  for (const entry of TABLE) if (entry.suits(event)) made.push(await staged(entry, stage))
  return made
}

/**
 * Makes one scenario from an event of your own.
 *
 * @param name of the scenario, such as `stale`: `SCENARIOS` has them all
 * @returns the scenario with its deliveries. What it says of runs holds where `body` gives another event each time
 * @throws TypeError when there is no such scenario, when the event does not suit it, or an option makes no sense
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
  source = checkOptionNames(source, SOURCE_OPTION_NAMES)
  const { body, ...options } = source
  const next = typeof body === 'function' ? body : () => body
  let first: string | undefined = next()
  const event = readEvent(first)
  if (!entry.suits(event)) {
    throw new TypeError(
      `There is no ${entry.name} of this ${event.type}: it needs an event.* whose data.event.id is a string.`,
    )
  }
  /** What was looked at is played too: whoever gives events one by one must not lose the first. */
  const played = (): string => {
    const text = first ?? next()
    first = undefined
    return text
  }
  return staged(entry, await setStage(event.type, played, options))
}

/** @throws TypeError that lists the names there are */
export function scenarioEntry(name: string): ScenarioEntry {
  const entry = TABLE.find((one) => one.name === name)
  if (entry !== undefined) return entry
  const names = TABLE.map((one) => one.name).join(', ')
  throw new TypeError(`There is no scenario ${describeValue(name)}. The scenarios are ${names}.`)
}

/** What every scenario relies on. */
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
