// Every subpath, each in the framework or with the client that it is for. Only compiled.
import Database from 'better-sqlite3'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import { createReceiver, type IdempotencyStore, memoryStore, type OrderCreatedEvent } from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { adapterCases, signedDelivery, storeCases } from 'tix-webhooks/testing'
import { knownEvents } from 'tix-webhooks/testing/fast-check'
import { createSandbox } from 'tix-webhooks-sandbox'

const secret = process.env.TIX_SIGNING_SECRET
const on = { 'order.created': async (event: OrderCreatedEvent) => event.data.order.id satisfies string }

express().post('/hooks', forExpress({ secret, on: { 'order.created': (_, ctx) => ctx.request.get('host') } }))
fastify().post('/hooks', forFastify({ secret, on: { 'order.created': (_, ctx) => ctx.request.hostname } }))
new Hono().post('/hooks', forHono({ secret, on: { 'order.created': (_, ctx) => ctx.request.req.path } }))
export const POST: (request: Request) => Promise<Response> = forFetch({ secret, on })
export const listener = forNode({ secret, on })
export const receiver = createReceiver({ secret, on })

// @ts-expect-error a misspelt kind
forFetch({ secret, on: { 'order.creatd': () => {} } })

const pool = new Pool()
const db = new Database(':memory:')
export const stores: IdempotencyStore[] = [
  memoryStore(),
  redisStore(new Redis({ lazyConnect: true })),
  redisStore(createClient()),
  postgresStore(pool),
  postgresStore(postgres()),
  sqliteStore(db),
]
export const inboxes = [
  forFetch({
    secret,
    namespace: 'orders',
    inbox: postgresInbox(pool),
    on: {
      'order.created': async (event, { tx }) => void (await tx.query('select $1', [event.data.order.id])),
    },
  }),
  forFetch({
    secret,
    namespace: 'orders',
    inbox: sqliteInbox(db),
    on: { 'order.created': async (_, { tx }) => void tx.commit((one) => one.prepare('select 1').all()) },
  }),
]
export const others = [createSandbox, adapterCases, storeCases, signedDelivery, knownEvents]
