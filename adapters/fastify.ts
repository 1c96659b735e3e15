import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteGenericInterface } from 'fastify'
import type { Account, BodyReader, Operations, SchemaMap, WebhookOptions } from '../src/index.js'
import { createReceiverFor, operationsOf, readSignature } from '../src/internal.js'
import { answerOn } from './fastify/answer.js'
import { logOn } from './fastify/log.js'
import { bytesGone, refuseMisuses } from './fastify/misuses.js'
import { sendFailure, streamBody } from './node.js'

/**
 * Route options of Fastify 4 or 5, for `app.post(path, tixWebhooks({…}))`. The answer is sent in `preParsing`: after a plugin
 * that inflates the body, before any parser. So other routes keep their parsers, and `preHandler` hooks do not run.
 */
export interface FastifyWebhooks extends Operations<FastifyRequest> {
  // Of any logger, type provider and HTTP/2 server, which the types of Fastify's request and reply name.
  preParsing(request: object, reply: object, payload: Readable, done: (error: Error) => void): void
  handler(request: object, reply: object): Promise<void>
}

/** While TypeScript looks for a type of `Route`, it is `never` here: a function around the options then gets a request all the same. */
type RequestOf<Route extends RouteGenericInterface> = [Route] extends [never]
  ? FastifyRequest
  : FastifyRequest<Route>

/**
 * Receives the service's webhooks in a Fastify app. Errors go to the request's logger unless there is an `onError`; if the app has
 * no logger, which is Fastify's default, to `console.error`.
 *
 * @throws TypeError that names the option and the fix
 * @example
 * ```ts
 * app.post('/hooks', tixWebhooks({
 *   secret: process.env.TIX_SIGNING_SECRET,
 *   on: { 'order.created': async (event) => issueTickets(event.data.order.id) },
 * }))
 * ```
 */
export function tixWebhooks<
  Route extends RouteGenericInterface = RouteGenericInterface,
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = Record<never, never>,
  Found extends Account | undefined = undefined,
>(options: WebhookOptions<RequestOf<Route>, Tx, Schemas, Found>): FastifyWebhooks {
  const plain = options as WebhookOptions<FastifyRequest, Tx, Schemas, Found>
  const receiver = createReceiverFor(tixWebhooks, plain)

  async function receive(request: FastifyRequest, reply: FastifyReply, body: BodyReader): Promise<void> {
    const answer = answerOn(reply)
    const outcome = await receiver.receive({
      header: readSignature(receiver.headerName, (name) => request.headers[name]),
      body,
      request,
      contentEncoding: request.headers['content-encoding'],
      isAnswered: answer.isSent,
      path: () => request.url,
      log: logOn(request.log),
    })
    answer.send(outcome)
  }

  async function receiveUnparsed(request: FastifyRequest, reply: FastifyReply, payload: Readable) {
    try {
      const advice = 'A hook or plugin before it did.'
      await receive(request, reply, streamBody(payload, { advice, request: request.raw }))
      // The rest of a request that a hook inflates is discarded, so that the client reads the answer.
      if (payload !== request.raw) request.raw.unpipe().resume()
    } catch (error) {
      sendFailure(reply.raw, error, { request, onError: plain.onError })
    }
  }

  const routeOptions: FastifyWebhooks = {
    // Fastify's `done` is not called, and no promise is returned: if an onSend hook still ran or the client had gone, either would
    // make Fastify go on to its parser and to the handler, and so answer a second time.
    preParsing(request, reply, payload) {
      void receiveUnparsed(request as FastifyRequest, reply as FastifyReply, payload)
    },
    async handler(request, reply) {
      await receive(request as FastifyRequest, reply as FastifyReply, bytesGone)
      return reply as never
    },
    ...operationsOf(receiver),
  }
  return refuseMisuses(routeOptions)
}
