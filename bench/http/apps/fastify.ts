import type { AddressInfo } from 'node:net'
import { type FastifyInstance, fastify } from 'fastify'
import { tixWebhooks } from 'tix-webhooks/fastify'
import { HOST, type Open, PATH, SECRET, type Way } from '../contestants.js'
import { verifiedEvent } from './by-hand.js'
import { optionsWith } from './options.js'

/** Peers are loaded only when they are measured, so that they take no memory otherwise. */
export const fastifyApps: Readonly<Record<Exclude<Way, 'polar'>, Open>> = {
  ours: serving((app, handler) => app.post(PATH, tixWebhooks(optionsWith(handler)))),
  byHand: serving((app, handler) => {
    keepBytes(app)
    app.post<{ Body: Buffer }>(PATH, async (request, reply) => {
      const header = request.headers['x-service-signature']
      if (verifiedEvent(request.body, header as string) === undefined) return reply.code(400).send()
      handler()
      return reply.send({ received: true })
    })
  }),
  octokit: serving(async (app, handler) => {
    const { Webhooks } = await import('@octokit/webhooks')
    const webhooks = new Webhooks({ secret: SECRET })
    webhooks.on('ping', handler)
    app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    )
    app.post<{ Body: string }>(PATH, async (request, reply) => {
      await webhooks.verifyAndReceive({
        id: request.headers['x-github-delivery'] as string,
        name: request.headers['x-github-event'] as string,
        signature: request.headers['x-hub-signature-256'] as string,
        payload: request.body,
      })
      return reply.code(200).send()
    })
  }),
  bare: serving((app, handler) => {
    keepBytes(app)
    app.post(PATH, async (_request, reply) => {
      handler()
      return reply.code(200).send()
    })
  }),
}

function keepBytes(app: FastifyInstance): void {
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
}

function serving(route: (app: FastifyInstance, handler: () => void) => unknown): Open {
  return async (handler) => {
    const app = fastify()
    await route(app, handler)
    await app.listen({ port: 0, host: HOST })
    return (app.server.address() as AddressInfo).port
  }
}
