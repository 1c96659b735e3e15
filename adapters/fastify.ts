import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import {
  answerTo,
  type BodyReader,
  ConfigurationError,
  createReceiver,
  type Receiver,
  type SchemaMap,
  type WebhookOptions,
} from '../src/index.js'
import { streamBody } from '../src/node.js'

/** What we need of a reply: structural, so that a reply of any logger, type provider or HTTP/2 server is one. */
interface Reply {
  code(status: number): Reply
  headers(headers: Record<string, string>): Reply
  send(body: never): unknown
  readonly sent: boolean
}

/** What we need of a request. */
interface RequestLike {
  readonly headers: Record<string, string | string[] | undefined>
  readonly raw: Readable
  readonly log: { error(message: string): void }
}

/**
 * Route options of Fastify 4 or 5, for `app.post(path, tixWebhooks({…}))`. The answer is sent in `preParsing`: after a plugin
 * that inflates the body, before any parser. So other routes keep their parsers, and `preHandler` hooks do not run.
 */
export interface FastifyWebhooks extends Pick<Receiver, 'drain'> {
  preParsing(request: RequestLike, reply: Reply, payload: Readable, done: (error: Error) => void): void
  handler(request: RequestLike, reply: Reply): Promise<void>
}

/**
 * Receives the service's webhooks in a Fastify app. Errors go to the request's logger unless there is an `onError`.
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
export function tixWebhooks<Tx = undefined, Schemas extends SchemaMap<keyof Schemas> = Record<never, never>>(
  options: WebhookOptions<FastifyRequest, Tx, Schemas>,
): FastifyWebhooks {
  const receiver = createReceiver(options)

  async function answer(
    request: RequestLike,
    reply: Reply,
    body: BodyReader,
    payload?: Readable,
  ): Promise<void> {
    const outcome = await receiver.receive({
      header: request.headers[receiver.headerName],
      body,
      // The same object: the structural type only forgets what Fastify's own generics would say of it.
      request: request as FastifyRequest,
      contentEncoding: String(request.headers['content-encoding'] ?? ''),
      isAnswered: () => reply.sent,
      log: (line) => request.log.error(line),
    })
    if (reply.sent) return
    // A layer that inflates is left standing; what the client still sends is thrown away, so that it sees the answer.
    if (payload !== undefined && payload !== request.raw) request.raw.unpipe().resume()
    const { status, headers, body: text } = answerTo(outcome)
    reply
      .code(status)
      .headers({ ...headers })
      .send(text as never)
  }

  return {
    // `done` is not called after an answer, and no promise is returned: either would make Fastify go on to its parser and to
    // the handler where an onSend hook still runs or the client has gone, and so answer a second time.
    preParsing(request, reply, payload, done) {
      // We may answer without reading it, and a stream whose error nobody hears takes the process down.
      payload.on('error', () => {})
      answer(request, reply, streamBody(payload, 'A hook or plugin before it did.'), payload).catch(done)
    },
    async handler(request, reply) {
      await answer(request, reply, bytesGone)
      return reply as never
    },
    drain: receiver.drain,
  }
}

/** Only reached when the route's `preParsing` was taken away; then Fastify has parsed the body, and its bytes are gone. */
async function bytesGone(): Promise<never> {
  throw new ConfigurationError(
    'The preParsing hook of tixWebhooks did not run: pass its route options whole, as in app.post("/hooks", tixWebhooks({…})).',
  )
}
