import { fastify } from 'fastify'
import { tixWebhooks } from 'tix-webhooks/fastify'
import { mapped } from '../../app/fetch-app.js'
import { serve } from './serve.js'

await serve(async (options, controlled) => {
  const endpoints = mapped(options, (one) => tixWebhooks(one))
  const app = fastify()
  for (const [name, hooks] of Object.entries(endpoints)) app.post(`/hooks/${name}`, hooks)
  app.get('/control/*', (request) => controlled(request.url))
  await app.ready()
  return { server: app.server, endpoints }
})
