// An app that never imports the main entry, and emits declarations: the types of what it exports are written by that entry's name.
import type { Redis } from 'ioredis'
import type { DurableObjectNamespace } from 'tix-webhooks/durable-object'
import { durableObjectStore } from 'tix-webhooks/durable-object'
import { requestBody } from 'tix-webhooks/fetch'
import { streamBody } from 'tix-webhooks/node'
import { instrument } from 'tix-webhooks/opentelemetry'
import { redisStore } from 'tix-webhooks/redis'
import { sampleEvent, signedDelivery } from 'tix-webhooks/testing'
import { eventsOf, knownEvents } from 'tix-webhooks/testing/fast-check'

export const store = redisStore({} as Redis)
export const edge = durableObjectStore({} as DurableObjectNamespace)
export const delivery = (secret: string) => signedDelivery('order.created', { secret })
export const event = () => sampleEvent('order.created')
export const own = <Kind extends string, Data extends object>(kind: Kind, data: Data) =>
  sampleEvent(kind, { data, exact: true })
export const readers = { streamBody, requestBody }
export const instrumented = (secret: string) => instrument({ secret, on: { 'order.created': () => {} } })
export const arbitraries = { knownEvents: knownEvents(), orders: eventsOf('order.created') }
