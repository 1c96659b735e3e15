import { createServer } from 'node:http'
import { tixWebhooks } from 'tix-webhooks/node'
import { mapped } from '../../app/fetch-app.js'
import { serve } from './serve.js'

await serve(async (options, controlled) => {
  const endpoints = mapped(options, (one) => tixWebhooks(one))
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    const hooks = endpoints[path.replace('/hooks/', '')]
    if (hooks) await hooks(request, response)
    else response.end(await controlled(path))
  })
  return { server, endpoints }
})
