import { Hono } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'
import { control } from './control.js'
import { endpointsWith } from './endpoints.js'
import { byRequest, mapped, type Parts } from './fetch-app.js'
import { memoryInbox } from './lane-inbox.js'

/** The app of Hono, on whatever runtime. */
export function honoApp({ laneInbox = memoryInbox(), backends = {} }: Parts = {}): Hono {
  const endpoints = mapped(endpointsWith(laneInbox, backends), (options) => tixWebhooks(options as never))
  const adapter = byRequest((options) => new Hono().post('/hooks', tixWebhooks(options)).request)
  const app = new Hono()
  for (const [name, hooks] of Object.entries(endpoints)) app.post(`/hooks/${name}`, hooks)
  app.get('/control/*', async (c) => {
    return c.body((await control(c.req.path, { laneInbox, backends, endpoints, adapter })) ?? '')
  })
  return app
}
