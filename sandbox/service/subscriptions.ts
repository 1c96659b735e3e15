import type { EventKind } from 'tix-webhooks'
import type { Mode } from '../domain/mode.js'
import { webhookData } from '../domain/resources.js'
import type { EndpointInput, EndpointPatch } from '../engine/endpoint.js'

/** A subscription of an endpoint: a kind, a group of kinds, or everything. */
export type Subscription = EventKind | 'order.*' | 'event.*' | '*'

/** An endpoint that is to be. */
export interface NewEndpoint extends EndpointInput {
  /** Default `['*']`. */
  events?: readonly Subscription[]
  /** Whose webhooks it takes: those of what test keys do, or live ones. Default `test`. */
  mode?: Mode
}

/** Changes to an endpoint. */
export interface EndpointChanges extends EndpointPatch {
  events?: readonly Subscription[]
}

const KINDS = Object.keys(webhookData)
const GROUPS = [...new Set(KINDS.map((kind) => `${kind.split('.')[0]}.*`))]

/** All valid subscriptions. */
export const SUBSCRIPTIONS: readonly string[] = [...KINDS, ...GROUPS, '*']

/** @throws TypeError that lists what there is: nothing would ever be sent to an endpoint with a slip in it */
export function checkSubscriptions({ events = [], mode = 'test' }: Partial<EndpointInput>): void {
  const unknown = Array.isArray(events) ? events.find((one) => !SUBSCRIPTIONS.includes(one)) : undefined
  if (unknown !== undefined) {
    throw new TypeError(
      `The service has no events ${JSON.stringify(unknown)}: an endpoint takes ${SUBSCRIPTIONS.join(', ')}.`,
    )
  }
  if (mode !== 'test' && mode !== 'live') throw new TypeError('mode must be "test" or "live".')
}
