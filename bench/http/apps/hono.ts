import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'
import { type Open, PATH, type Way } from '../contestants.js'
import { verifiedEvent } from './by-hand.js'
import { listen } from './listen.js'
import { optionsWith } from './options.js'

export const honoApps: Readonly<Partial<Record<Way, Open>>> = {
  ours: serving((app, handler) => app.post(PATH, tixWebhooks(optionsWith(handler)))),
  byHand: serving((app, handler) =>
    app.post(PATH, async (c) => {
      const rawBody = Buffer.from(await c.req.arrayBuffer())
      if (verifiedEvent(rawBody, c.req.header('x-service-signature')) === undefined) return c.body(null, 400)
      handler()
      return c.json({ received: true })
    }),
  ),
}

function serving(route: (app: Hono, handler: () => void) => unknown): Open {
  return async (handler) => {
    const app = new Hono()
    await route(app, handler)
    return listen(createAdaptorServer({ fetch: app.fetch }) as Server)
  }
}
