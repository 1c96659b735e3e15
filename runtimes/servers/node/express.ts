import { createServer } from 'node:http'
import express from 'express'
import { tixWebhooks } from 'tix-webhooks/express'
import { mapped } from '../../app/fetch-app.js'
import { serve } from './serve.js'

await serve(async (options, controlled) => {
  const endpoints = mapped(options, (one) => tixWebhooks(one))
  const app = express()
  for (const [name, hooks] of Object.entries(endpoints)) app.post(`/hooks/${name}`, hooks)
  app.get('/control/*path', async (request, response) => {
    response.send(await controlled(request.path))
  })
  return { server: createServer(app), endpoints }
})
