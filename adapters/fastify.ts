import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyRequest, RouteGenericInterface } from 'fastify'
import {
  type Account,
  answerTo,
  type BodyReader,
  ConfigurationError,
  type Operations,
  type SchemaMap,
  type WebhookOptions,
} from '../src/index.js'
import { createRouteReceiver, operationsOf } from '../src/internal.js'
import { removePresetHeaders, sendAnswer, streamBody } from '../src/node.js'

/** The part of a reply that is used: structural, so that a reply of any logger, type provider or HTTP/2 server fits. */
interface Reply {
  code(status: number): Reply
  headers(headers: Record<string, string>): Reply
  hasHeader(name: string): boolean
  removeHeader(name: string): unknown
  send(body: never): unknown
  serializer(serialize: (payload: unknown) => string): unknown
  readonly sent: boolean
  readonly raw: {
    readonly headersSent: boolean
    statusMessage: string
    hasHeader(name: string): boolean
    removeHeader(name: string): void
    on(event: 'error', listener: () => void): unknown
    destroy(): unknown
  }
}

/** The part of a request that is used. */
interface RequestLike {
  readonly headers: Record<string, string | string[] | undefined>
  readonly raw: Readable & { readonly httpVersionMajor: number }
  readonly url: string
  readonly log: Log
}

interface Log {
  error(fields: object, message: string): void
  readonly info?: unknown
  readonly level?: unknown
}

/**
 * Route options of Fastify 4 or 5, for `app.post(path, tixWebhooks({…}))`. The answer is sent in `preParsing`: after a plugin
 * that inflates the body, before any parser. So other routes keep their parsers, and `preHandler` hooks do not run.
 */
export interface FastifyWebhooks extends Operations<FastifyRequest> {
  preParsing(request: RequestLike, reply: Reply, payload: Readable, done: (error: Error) => void): void
  handler(request: RequestLike, reply: Reply): Promise<void>
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
  const receiver = createRouteReceiver(
    tixWebhooks,
    options as WebhookOptions<FastifyRequest, Tx, Schemas, Found>,
  )

  async function receive(
    request: RequestLike,
    reply: Reply,
    body: BodyReader,
    payload?: Readable,
  ): Promise<void> {
    const wasBegun = reply.raw.headersSent
    const own = takeOver(reply)
    const outcome = await receiver.receive({
      header: request.headers[receiver.headerName],
      body,
      // The same object: the structural type only lacks Fastify's own generics.
      request: request as FastifyRequest,
      contentEncoding: String(request.headers['content-encoding'] ?? ''),
      isAnswered: own.isAnswered,
      path: () => request.url,
      log: isOff(request.log)
        ? undefined
        : (line, err) => request.log.error(err === undefined ? {} : { err }, line),
    })
    if (wasBegun) sendAnswer(reply.raw as ServerResponse, outcome, { wasBegun })
    if (own.isAnswered()) return
    // An inflating stream is detached, and the rest of the request is discarded, so that the client reads the answer.
    if (payload !== undefined && payload !== request.raw) request.raw.unpipe().resume()
    const { httpVersionMajor } = request.raw
    const { status, headers, body: text } = answerTo(outcome, { httpVersionMajor })
    removePresetHeaders((name) => {
      // Only if it is set: otherwise Node would no longer send the stream of a hook in chunks.
      if (reply.hasHeader(name)) reply.removeHeader(name)
      // Fastify 4 leaves the headers that were set on Node's own response.
      if (reply.raw.hasHeader(name)) reply.raw.removeHeader(name)
    })
    // HTTP/2 has no reason phrase, and Node warns of one. In `inject()` there is no version.
    if (!(httpVersionMajor >= 2)) reply.raw.statusMessage = ''
    reply.code(status).headers(headers)
    // A serializer that a hook has set would encode our text a second time, or throw.
    reply.serializer((payload) => payload as string)
    own.send(text)
  }

  const routeOptions: FastifyWebhooks = {
    // `done` is not called after an answer, and no promise is returned: if an onSend hook still ran or the client had gone, either
    // would make Fastify go on to its parser and to the handler, and so answer a second time.
    preParsing(request, reply, payload, done) {
      const fail = (error: Error): void => {
        try {
          // If sending failed, the status is that of our answer, and Fastify would keep it.
          reply.code(answerTo({ outcome: 'misconfigured' }).status)
          done(error)
        } catch {
          // Fastify could not send its own answer either, and reports that nowhere.
          reply.raw.destroy()
        }
      }
      try {
        // We may answer without reading it, and an 'error' event without a listener ends the process.
        payload.on('error', () => {})
        const body = streamBody(payload, { advice: 'A hook or plugin before it did.', request: request.raw })
        receive(request, reply, body, payload).catch(fail)
      } catch (error) {
        fail(error as Error)
      }
    },
    async handler(request, reply) {
      await receive(request, reply, bytesGone)
      return reply as never
    },
    ...operationsOf(receiver),
  }
  return refusingMisuse(routeOptions)
}

/** The property that each other use of route options reads, and the advice against that use. */
const MISUSES = {
  // `http.createServer` would take them for its own options, and answer nothing.
  IncomingMessage: 'in a node:http server import tix-webhooks/node',
  // Fastify binds a handler.
  bind: "pass them whole: app.post('/hooks', tixWebhooks({ … })), or app.route({ method: 'POST', url: '/hooks', ...tixWebhooks({ … }) })",
  // A route that returns or sends them would answer 200 with their JSON.
  toJSON: "do not return or send them in a route: app.post('/hooks', tixWebhooks({ … }))",
} as const

function refusingMisuse(routeOptions: FastifyWebhooks): FastifyWebhooks {
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

/** Whether it is Fastify's stand-in for a logger: one function, which does nothing, under every name, and no level. */
function isOff({ error, info, level }: Log): boolean {
  return level === undefined && error === info
}

/**
 * Sends on a reply, and knows whether other code has begun to: while an asynchronous onSend hook of that answer runs, Fastify
 * itself does not know, and our answer would replace it.
 */
function takeOver(reply: Reply): { isAnswered(): boolean; send(body: string): void } {
  // An error of a handler that writes after our answer.
  reply.raw.on('error', () => {})
  // Its own type is that of the route's response schema, which our answers need not fit.
  const send = reply.send.bind(reply) as (body?: unknown) => unknown
  let isTaken = false
  reply.send = (body: unknown) => {
    isTaken = true
    return send(body)
  }
  return { isAnswered: () => isTaken || reply.sent || reply.raw.headersSent, send }
}

/** Only reached when the route's `preParsing` was taken away; then Fastify has parsed the body, and its bytes are gone. */
async function bytesGone(): Promise<never> {
  throw new ConfigurationError(
    'The preParsing hook of tixWebhooks did not run: pass all of its route options, as in app.post("/hooks", tixWebhooks({…})), and not in a controller. In NestJS: app.getHttpAdapter().getInstance().post("/hooks", tixWebhooks({…})).',
  )
}
