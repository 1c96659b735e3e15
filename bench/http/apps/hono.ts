import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'
import { type Open, PATH, SECRET, type Way } from '../contestants.js'
import { verifiedEvent } from './by-hand.js'
import { listen } from './listen.js'
import { optionsWith } from './options.js'

/** Peers are loaded only when they are measured, so that they take no memory otherwise. */
export const honoApps: Readonly<Record<Way, Open>> = {
  ours: serving((app, handler) => app.post(PATH, tixWebhooks(optionsWith(handler)))),
  byHand: serving((app, handler) =>
    app.post(PATH, async (c) => {
      const rawBody = Buffer.from(await c.req.arrayBuffer())
      if (verifiedEvent(rawBody, c.req.header('x-service-signature')) === undefined) return c.body(null, 400)
      handler()
      return c.json({ received: true })
    }),
  ),
  octokit: serving(async (app, handler) => {
    const { Webhooks } = await import('@octokit/webhooks')
    const webhooks = new Webhooks({ secret: SECRET })
    webhooks.on('ping', handler)
    app.post(PATH, async (c) => {
      await webhooks.verifyAndReceive({
        id: c.req.header('x-github-delivery') ?? '',
        name: c.req.header('x-github-event') ?? '',
        signature: c.req.header('x-hub-signature-256') ?? '',
        payload: await c.req.text(),
      })
      return c.body(null, 200)
    })
  }),
  polar: serving(async (app, handler) => {
    const { Webhooks } = await import('@polar-sh/hono')
    app.post(PATH, Webhooks({ webhookSecret: SECRET, onBenefitCreated: async () => handler() }))
  }),
  bare: serving((app, handler) =>
    app.post(PATH, async (c) => {
      await c.req.arrayBuffer()
      handler()
      return c.body(null, 200)
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
