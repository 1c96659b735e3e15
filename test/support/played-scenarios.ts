import { unchecked, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  type AnyAnswer,
  type Scenario,
  type ScenarioName,
  type ScenarioOptions,
  sampleEvent,
  scenarios,
  type TestDelivery,
} from 'tix-webhooks/testing'
import { SECRET } from './deliveries.js'

const refunded = (): string =>
  JSON.stringify({
    ...sampleEvent('order.created'),
    type: 'order.refunded',
    data: { order: { id: 'ord_1' } },
  })

/** One kind of each sort, and its scenarios: with a documented payload, with an undocumented one, and added by a schema. */
export const PLAYED_KINDS: readonly [string, (options: ScenarioOptions) => Promise<readonly Scenario[]>][] = [
  ['order.created', (options) => scenarios('order.created', options)],
  ['event.published', (options) => scenarios('event.published', options)],
  ['order.refunded', (options) => scenarios('order.refunded', { ...options, body: refunded })],
]

/** A receiver's options with handlers for those kinds, and how often these have run so far. */
export function countingOptions(overrides: Partial<WebhookOptions> = {}) {
  let runs = 0
  const count = (): void => {
    runs += 1
  }
  const options = {
    secret: SECRET,
    schemas: { 'order.refunded': unchecked() },
    on: { 'order.created': count, 'event.*': count, 'order.refunded': count } as WebhookOptions['on'],
    onError: () => {},
    ...overrides,
  }
  return { options, runs: () => runs }
}

/** A receiver without a framework, as a target of scenarios. */
export function countingHandler(overrides: Partial<WebhookOptions> = {}): Target {
  const { options, runs } = countingOptions(overrides)
  const POST = tixWebhooks(options)
  return { send: (delivery) => POST(delivery.toRequest('/hooks')), runs }
}

/** The effect of a scenario on a receiver. */
interface Played {
  readonly statuses: readonly number[]
  readonly runs: number
}

/** An app under test, and how often its handler has run so far. */
export interface Target {
  send(delivery: TestDelivery): Promise<AnyAnswer>
  readonly runs: () => number
}

/** Plays a scenario on it. */
async function played({ deliver }: Scenario, { send, runs }: Target): Promise<Played> {
  const before = runs()
  const answers = await deliver(send)
  return {
    statuses: answers.map((answer) => ('status' in answer ? answer.status : answer.statusCode)),
    runs: runs() - before,
  }
}

/** Whether the answers and the runs are the expected ones. */
function isPassed({ expect, deliveries }: Scenario, { statuses, runs }: Played): boolean {
  return (
    statuses.length === deliveries.length &&
    statuses.every((status) => expect.statuses.includes(status)) &&
    runs === expect.runs
  )
}

/** The names of the scenarios that the target fails, run one after the other. */
export async function failing(all: readonly Scenario[], target: Target): Promise<ScenarioName[]> {
  const names: ScenarioName[] = []
  for (const scenario of all) {
    if (!isPassed(scenario, await played(scenario, target))) names.push(scenario.name)
  }
  return names
}
