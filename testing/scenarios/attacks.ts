import type { EventKind } from '../../src/index.js'
import type { AnyOptions, ExactOptions, SampleOptions, Undocumented } from '../deliveries/sample-event.js'
import type { TestDelivery } from '../deliveries/test-delivery.js'
import { type AttackOptions, sampleFixture } from './fixture.js'
import { createScenario, type ScenarioName } from './scenario.js'
import { scenarioEntry } from './scenarios.js'

/** Deliveries that a receiver must refuse or absorb. */
export interface Attack {
  readonly name: AttackName
  /** In the order in which they are sent. */
  readonly deliveries: readonly TestDelivery[]
  readonly expect: {
    /** The statuses that each of the answers may have. */
    readonly statuses: readonly number[]
    /** How often the handler of the kind must have run when all of them are answered. */
    readonly runs: number
  }
  /** Sends the deliveries, one after the other or all at once as the attack requires, and returns the answers in the same order. */
  deliver<Answer>(send: (delivery: TestDelivery) => Answer): Promise<Awaited<Answer>[]>
}

export type AttackName =
  | 'missing header'
  | 'malformed header'
  | 'tampered byte'
  | 're-serialised body'
  | 'wrong secret'
  | 'stale'
  | 'future'
  | 'truncated'
  | "other endpoint's secret"
  | 'empty body'
  | 'not JSON'
  | 'not an envelope'
  | 'duplicate'
  | 'concurrent burst'
  | 'unknown kind'

/** Each attack is a scenario under a name of its own. */
const SCENARIO_OF: Readonly<Record<AttackName, ScenarioName>> = {
  'missing header': 'missing-header',
  'malformed header': 'malformed-header',
  'tampered byte': 'tampered-byte',
  're-serialised body': 're-serialised-body',
  'wrong secret': 'wrong-secret',
  stale: 'stale',
  future: 'future',
  truncated: 'truncated',
  "other endpoint's secret": 'other-endpoints-secret',
  'empty body': 'empty-body',
  'not JSON': 'not-json',
  'not an envelope': 'not-an-envelope',
  duplicate: 'duplicate',
  'concurrent burst': 'concurrent-burst',
  'unknown kind': 'unknown-kind',
}

/** Attacks with events of any kind, with data of your own. */
export function attacks(
  kind: string,
  options: AttackOptions & Pick<ExactOptions<object>, 'data'> & { exact: true },
): Promise<readonly Attack[]>
/** Attacks with events of any kind, with data of your own. */
export function attacks<Kind extends string>(
  kind: Kind & Undocumented<Kind>,
  options: AttackOptions & Pick<ExactOptions<object>, 'data' | 'exact'>,
): Promise<readonly Attack[]>
/**
 * Deliveries that your endpoint must refuse or absorb, from attackers and from the service on a bad day, each with the answer that
 * is due. Loop over them against your own app.
 *
 * The attacks are independent of each other, in any order: each event that must run is a new one, on every call. Your `data` is in
 * all of them, so do not build a `key` from it alone. If your app has an `onUnhandled`, it gets the events of unknown kinds. On a
 * store that outlives the test, use a new `namespace` for each run: the samples start over in each process.
 *
 * @param kind a kind that your app handles
 * @returns the attacks, in the order of `AttackName`
 * @throws TypeError that names the field or the option that is wrong
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { attacks } from 'tix-webhooks/testing'
 *
 * const secret = 'whsec_test'
 * let runs = 0
 * const POST = tixWebhooks({ secret, on: { 'order.created': () => void runs++ }, onError: () => {} })
 *
 * for (const { name, deliver, expect } of await attacks('order.created', { secret })) {
 *   runs = 0
 *   const answers = await deliver((delivery) => POST(delivery.toRequest('/hooks')))
 *   console.assert(answers.every(({ status }) => expect.statuses.includes(status)) && runs === expect.runs, name)
 * }
 * ```
 */
export function attacks<Kind extends EventKind>(
  kind: Kind,
  options: AttackOptions & Pick<SampleOptions<Kind>, 'data' | 'exact'>,
): Promise<readonly Attack[]>
export async function attacks(
  kind: string,
  options: AttackOptions & Pick<AnyOptions, 'data' | 'exact'>,
): Promise<readonly Attack[]> {
  const fixture = await sampleFixture(kind, options)
  const table: Attack[] = []
  for (const [name, scenario] of Object.entries(SCENARIO_OF)) {
    const { deliveries, expect, deliver } = await createScenario(scenarioEntry(scenario), fixture)
    table.push({ name: name as AttackName, deliveries, expect, deliver })
  }
  return table
}
