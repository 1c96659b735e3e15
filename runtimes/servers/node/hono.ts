import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'
import { mapped } from '../../app/fetch-app.js'
import { serve } from './serve.js'

await serve(async (options, controlled) => {
  const endpoints = mapped(options, (one) => tixWebhooks(one))
  const app = new Hono()
  for (const [name, hooks] of Object.entries(endpoints)) app.post(`/hooks/${name}`, hooks)
  app.get('/control/*', async (c) => c.body((await controlled(c.req.path)) ?? ''))
  return { server: createAdaptorServer({ fetch: app.fetch }) as Server, endpoints }
})
