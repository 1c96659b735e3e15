import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { Pool } from 'pg'

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
