import type { Readable } from 'node:stream'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest, RouteGenericInterface } from 'fastify'
import {
  type Account,
  answerTo,
  type BodyReader,
  ConfigurationError,
  type Delivery,
  type Operations,
  type Outcome,
  type SchemaMap,
  type WebhookOptions,
} from '../src/index.js'
import { createReceiverFor, operationsOf } from '../src/internal.js'
import { removePresetHeaders, sendAnswer, sendFailure, streamBody } from './node.js'

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
      header: request.headers[receiver.headerName],
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

/** The one answer on a reply. */
interface Answer {
  /** Whether other code has begun to answer. */
  isSent(): boolean
  /** Sends the answer to an outcome, unless other code has. */
  send(outcome: Outcome): void
}

/** Takes a reply over at the start of a delivery. */
function answerOn(reply: FastifyReply): Answer {
  const { raw } = reply
  const wasBegun = raw.headersSent
  // An error of a handler that writes after our answer.
  raw.on('error', () => {})
  // While an asynchronous onSend hook of another answer runs, Fastify does not know of that answer. Sending ours too would end Fastify 4.
  const send = reply.send.bind(reply)
  let isTaken = false
  reply.send = (body) => {
    isTaken = true
    return send(body)
  }
  const isSent = (): boolean => isTaken || reply.sent || raw.headersSent
  return {
    isSent,
    send(outcome) {
      if (wasBegun) sendAnswer(raw, outcome, { wasBegun })
      if (isSent()) return
      const { status, headers, body } = answerTo(outcome, reply.request.raw)
      removePresetHeaders((name) => {
        // Only if it is set: otherwise Node would no longer send the stream of a hook in chunks.
        if (reply.hasHeader(name)) reply.removeHeader(name)
        // Fastify 4 leaves the headers that were set on Node's own response.
        if (raw.hasHeader(name)) raw.removeHeader(name)
      })
      // An invalid reason phrase would make the answer throw. HTTP/2 has none, and Node warns of one.
      if (reply.request.raw.httpVersionMajor === 1) raw.statusMessage = ''
      // A serializer that a hook has set would encode our text a second time.
      reply.code(status).headers(headers).serializer(String)
      send(body)
    },
  }
}

/** Writes the default report to a request's logger. Without one, which is Fastify's default, it is left to `console.error`. */
function logOn(log: FastifyBaseLogger): Delivery['log'] {
  // Fastify's stand-in for a logger has no level, and one function, which does nothing, under every name.
  if (log.level === undefined && log.error === log.info) return undefined
  return (line, thrown) => log.error(thrown === undefined ? {} : { err: thrown }, line)
}

/** The property that each wrong use of route options reads, and the advice against that use. */
const MISUSES = {
  // `http.createServer` would take them for its own options, and answer nothing.
  IncomingMessage: 'in a node:http server import tix-webhooks/node',
  // Fastify binds a handler.
  bind: "pass them whole: app.post('/hooks', tixWebhooks({ … })), or app.route({ method: 'POST', url: '/hooks', ...tixWebhooks({ … }) })",
  // A route that returns or sends them would answer 200 with their JSON.
  toJSON: "do not return or send them in a route: app.post('/hooks', tixWebhooks({ … }))",
} as const

/** Has each wrong use of route options throw a `TypeError` with the fix. */
function refuseMisuses<RouteOptions extends object>(routeOptions: RouteOptions): RouteOptions {
  for (const [name, advice] of Object.entries(MISUSES)) {
    // Not enumerable, or Fastify would copy it.
    Object.defineProperty(routeOptions, name, {
      get() {
        throw new TypeError(`This is tix-webhooks/fastify, whose route options are no handler: ${advice}.`)
      },
    })
  }
  return routeOptions
}

/** The reader of a body whose route was not given our `preParsing`: Fastify has parsed it, and its bytes are gone. */
async function bytesGone(): Promise<never> {
  throw new ConfigurationError(
    'The preParsing hook of tixWebhooks did not run: pass all of its route options, as in app.post("/hooks", tixWebhooks({…})), and not in a controller. In NestJS: app.getHttpAdapter().getInstance().post("/hooks", tixWebhooks({…})).',
  )
}
