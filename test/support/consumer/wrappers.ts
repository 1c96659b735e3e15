// An app that exports what it makes with the package, and emits declarations: each inferred type must be one that can be written there.
import {
  type Account,
  type AnyEvent,
  createReceiver,
  type EventKind,
  type EventOf,
  type Handlers,
  isKind,
  type KindOf,
  parseEvent,
  type SchemaMap,
  unchecked,
  type WebhookOptions,
} from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { tixWebhooks as forNode, sendAnswer, streamBody } from 'tix-webhooks/node'

export const schemas = { 'order.refunded': unchecked<{ cents: number }>() }
const options = { secret: 's', schemas, on: { 'order.refunded': () => {} } }

export const receivers = {
  receiver: createReceiver(options),
  express: forExpress({ secret: 's', on: {} }),
  fastify: forFastify({ secret: 's', on: {} }),
  hono: forHono({ secret: 's', on: {} }),
  fetch: forFetch(options),
  node: forNode(options),
}
export const helpers = { isKind, sendAnswer, streamBody }
export const on = { ...({} as Handlers<Request>) }
export const parsed = async () => parseEvent('{}', { schemas })
export const ofGroup = (event: AnyEvent) => (isKind(event, 'event.*') ? event : undefined)
export const ofKind = <K extends EventKind>(event: AnyEvent, kind: K) =>
  isKind(event, kind) ? event : undefined
export const boxed = <S extends SchemaMap<keyof S>, K extends KindOf<S>>(event: EventOf<K, S>) => ({ event })

export function wrapped<S extends SchemaMap<keyof S>>(options: WebhookOptions<Request, undefined, S>) {
  return { hooks: forFetch(options), on: options.on, onUnhandled: options.onUnhandled }
}

export function forAccounts<A extends Account>(
  account: (request: Request) => Promise<A | undefined>,
  on: Handlers<Request, undefined, Record<never, never>, A>,
) {
  return forFetch({ account, on })
}
