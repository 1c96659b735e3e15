import { createReceiver, memoryStore, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as onExpress } from 'tix-webhooks/express'
import { tixWebhooks as onFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as onFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as onHono } from 'tix-webhooks/hono'
import { tixWebhooks as onNode } from 'tix-webhooks/node'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'

const noSecret: WebhookOptions = { secret: undefined, on: { 'order.created': () => {} } }
const noClient = {} as never

/** Each is called in this file, and nowhere else. */
const FACTORIES: readonly (readonly [string, () => unknown])[] = [
  ['createReceiver', () => createReceiver(noSecret)],
  ['tixWebhooks of express', () => onExpress(noSecret)],
  ['tixWebhooks of fastify', () => onFastify(noSecret)],
  ['tixWebhooks of hono', () => onHono(noSecret)],
  ['tixWebhooks of fetch', () => onFetch(noSecret)],
  ['tixWebhooks of node', () => onNode(noSecret)],
  ['memoryStore', () => memoryStore({ maxKeys: 0 })],
  ['redisStore', () => redisStore(noClient)],
  ['postgresStore', () => postgresStore(noClient)],
  ['postgresInbox', () => postgresInbox(noClient)],
  ['sqliteStore', () => sqliteStore(noClient)],
  ['sqliteInbox', () => sqliteInbox(noClient)],
]

function thrownBy(factory: () => unknown): unknown {
  try {
    factory()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test.each(FACTORIES)('the stack of what %s refuses begins at the line of the user', (_, factory) => {
  const error = thrownBy(factory) as TypeError
  expect(error).toBeInstanceOf(TypeError)
  const [head, first] = error.stack?.split('\n    at ') ?? []
  expect(head).toBe(`TypeError: ${error.message}`)
  expect(first).toContain('call-site.test.ts')
})
