import { unchecked, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  type AnyAnswer,
  type Attack,
  type AttackName,
  type AttackOptions,
  attacks,
  type Scenario,
  scenarios,
  type TestDelivery,
} from 'tix-webhooks/testing'
import { SECRET } from './deliveries.js'

/** One kind of each sort, and its attacks: with a documented payload, with an undocumented one, and added by a schema. */
export const ATTACKED_KINDS: readonly [string, (options: AttackOptions) => Promise<readonly Attack[]>][] = [
  ['order.created', (options) => attacks('order.created', options)],
  ['event.published', (options) => attacks('event.published', options)],
  [
    'order.refunded',
    (options) => attacks('order.refunded', { ...options, data: { order: { id: 'ord_1' } } }),
  ],
]

/** The same kinds and their scenarios. */
export const PLAYED_KINDS: readonly [string, (options: AttackOptions) => Promise<readonly Scenario[]>][] = [
  ['order.created', (options) => scenarios('order.created', options)],
  ['event.published', (options) => scenarios('event.published', options)],
  [
    'order.refunded',
    (options) => scenarios('order.refunded', { ...options, data: { order: { id: 'ord_1' } } }),
  ],
]

/** A receiver's options with handlers for those kinds, and how often these have run so far. */
export function attackedOptions(overrides: Partial<WebhookOptions> = {}) {
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

/** A receiver without a framework, as a target of attacks. */
export function attackedHandler(overrides: Partial<WebhookOptions> = {}): Target {
  const { options, runs } = attackedOptions(overrides)
  const POST = tixWebhooks(options)
  return { send: (delivery) => POST(delivery.toRequest('/hooks')), runs }
}

/** The common part of an attack and a scenario. */
export type Playable = Pick<Attack, 'deliveries' | 'expect' | 'deliver'> & { readonly name: string }

/** The effect of an attack on a receiver. */
export interface Onslaught<Name = AttackName> {
  readonly name: Name
  readonly statuses: readonly number[]
  readonly runs: number
}

/** An app under attack, and how often its handler has run so far. */
export interface Target {
  send(delivery: TestDelivery): Promise<AnyAnswer>
  readonly runs: () => number
}

/** Plays an attack on it. */
export async function played<Name extends string>(
  { name, deliver }: Playable & { readonly name: Name },
  { send, runs }: Target,
): Promise<Onslaught<Name>> {
  const before = runs()
  const answers = await deliver(send)
  return {
    name,
    statuses: answers.map((answer) => ('status' in answer ? answer.status : answer.statusCode)),
    runs: runs() - before,
  }
}

/** Whether the answers and the runs are the expected ones. */
function isWithstood({ expect, deliveries }: Playable, { statuses, runs }: Onslaught<string>): boolean {
  return (
    statuses.length === deliveries.length &&
    statuses.every((status) => expect.statuses.includes(status)) &&
    runs === expect.runs
  )
}

/** The names of the attacks that succeed, run one after the other. */
export async function succeeding<Name extends string>(
  all: readonly (Playable & { readonly name: Name })[],
  target: Target,
): Promise<Name[]> {
  const names: Name[] = []
  for (const attack of all) {
    if (!isWithstood(attack, await played(attack, target))) names.push(attack.name)
  }
  return names
}
