import { createServer } from 'node:http'
import express, { type Express } from 'express'
import { tixWebhooks } from 'tix-webhooks/express'
import { type Open, PATH, SECRET, type Way } from '../contestants.js'
import { verifiedEvent } from './by-hand.js'
import { listen } from './listen.js'
import { optionsWith } from './options.js'

/** Peers are loaded only when they are measured, so that they take no memory otherwise. */
export const expressApps: Readonly<Record<Way, Open>> = {
  ours: serving((app, handler) => app.post(PATH, tixWebhooks(optionsWith(handler)))),
  byHand: serving((app, handler) =>
    app.post(PATH, express.raw({ type: 'application/json' }), (request, response) => {
      if (verifiedEvent(request.body, request.get('x-service-signature')) === undefined) {
        response.status(400).end()
        return
      }
      handler()
      response.json({ received: true })
    }),
  ),
  octokit: serving(async (app, handler) => {
    const { createNodeMiddleware, Webhooks } = await import('@octokit/webhooks')
    const webhooks = new Webhooks({ secret: SECRET })
    webhooks.on('ping', handler)
    app.use(createNodeMiddleware(webhooks, { path: PATH }))
  }),
  polar: serving(async (app, handler) => {
    const { Webhooks } = await import('@polar-sh/express')
    const receive = Webhooks({ webhookSecret: SECRET, onBenefitCreated: async () => handler() })
    app.use(express.json()).post(PATH, receive as express.Handler)
  }),
}

function serving(route: (app: Express, handler: () => void) => unknown): Open {
  return async (handler) => {
    const app = express()
    await route(app, handler)
    return listen(createServer(app))
  }
}
