import express from 'express'
import { fastify } from 'fastify'
import { type Context, Hono } from 'hono'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'

interface App {
  Bindings: { TIX_SIGNING_SECRET: string }
}

export const redis = new Redis()
export const pool = new Pool()
export const server = express()
export const instance = fastify()
export const app = new Hono<App>()

server.post('/orders', async (request, response) => {
  const id: string = request.body.data.order.id
  response.json({ id })
})
instance.post('/orders', async (request, reply) => {
  const { data } = request.body as { data: { order: { id: string } } }
  return reply.send({ id: data.order.id })
})
app.post('/orders', async (c) => {
  const { data } = await c.req.json<{ data: { order: { id: string } } }>()
  return c.json({ id: data.order.id, secret: c.env.TIX_SIGNING_SECRET })
})

server.post(
  '/hooks',
  forExpress({
    secret: process.env.TIX_SIGNING_SECRET,
    inbox: postgresInbox(pool),
    namespace: 'orders',
    on: {
      'order.created': async (event, ctx) => {
        await ctx.tx.query('INSERT INTO orders VALUES ($1)', [event.data.order.id])
      },
    },
  }),
)
instance.post(
  '/hooks',
  forFastify({
    secret: process.env.TIX_SIGNING_SECRET,
    store: postgresStore(pool),
    namespace: 'orders',
    on: {
      'order.created': async (event, ctx) => ctx.request.log.info(event.data.order.id),
      'event.*': async (event) => console.info(event.type, event.created_at),
    },
  }),
)
app.post(
  '/hooks',
  forHono({
    secret: (c: Context<App>) => c.env.TIX_SIGNING_SECRET,
    store: redisStore(redis),
    namespace: 'orders',
    on: { 'order.created': async (event) => console.info(event.data.tickets.length) },
  }),
)
