import type { AddressInfo } from 'node:net'
import { type FastifyInstance, fastify } from 'fastify'
import { tixWebhooks } from 'tix-webhooks/fastify'
import { HOST, type Open, PATH, type Way } from '../contestants.js'
import { verifiedEvent } from './by-hand.js'
import { optionsWith } from './options.js'

export const fastifyApps: Readonly<Partial<Record<Way, Open>>> = {
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
