import type { NextFunction, Request, Response } from 'express'
import {
  answerTo,
  type BodyReader,
  createReceiver,
  type Receiver,
  type SchemaMap,
  type WebhookOptions,
} from '../src/index.js'
import { answerWrongHost, sendAnswer, sendFailure, streamBody } from '../src/node.js'

/** A request handler of Express 4 or 5. */
export interface ExpressWebhooks extends Pick<Receiver, 'drain'> {
  (request: Request, response: Response, next: NextFunction): Promise<void>
  /** Called without `next`: what the app's error middleware would get goes to `onError`. */
  (request: Request, response: Response): Promise<void>
}

/**
 * Receives the service's webhooks in an Express app. Mount it before `express.json()`, which would use up the bytes. Under
 * `app.use(path, …)` it takes each POST at that path and below, and passes all other methods on, as middleware does.
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
  options: WebhookOptions<Request, Tx, Schemas>,
): ExpressWebhooks {
  const receiver = createReceiver(options, tixWebhooks)

  return Object.assign(
    async (request: Request, response: Response, next?: NextFunction): Promise<void> => {
      const wrong = answerWrongHost('express', [request, response], options.onError)
      if (wrong !== undefined) return wrong.returned as undefined
      let isSending = false
      try {
        if (request.method !== 'POST' && typeof next === 'function') return next()
        // An error that nobody listens for ends the process, as that of a handler which writes after our answer.
        request.on('error', () => {})
        response.on('error', () => {})
        const outcome = await receiver.receive({
          header: request.headers[receiver.headerName],
          request,
          path: () => request.originalUrl,
          method: request.method,
          contentEncoding: request.headers['content-encoding'],
          isAnswered: () => response.headersSent,
          ...bodyOf(request),
        })
        isSending = true
        sendAnswer(response, answerTo(outcome))
      } catch (error) {
        // Not a rejection: Express 4 ignores what a handler returns, and one that nobody hears ends the process.
        if (isSending) unwrap(response)
        if (typeof next === 'function') next(error)
        else sendFailure(response, error, request, options.onError)
      }
    },
    { drain: receiver.drain },
  )
}

/**
 * Gives a response its own methods back after one that a middleware had wrapped threw. The app's error middleware would call
 * it again, and so would Express's last resort, in a later turn, where nobody can catch what it throws.
 */
function unwrap(response: Response): void {
  for (const name of ['writeHead', 'write', 'end']) Reflect.deleteProperty(response, name)
}

/** The bytes that a parser before us has kept, else the stream. Cloud Functions and Firebase keep them as `rawBody`. */
function bodyOf(request: Request & { rawBody?: unknown }): { body: Uint8Array | BodyReader; hint?: string } {
  for (const kept of [request.rawBody, request.body]) {
    if (kept instanceof Uint8Array) return { body: kept }
    if (typeof kept === 'string') {
      const hint =
        'The body was taken as text before us (express.text()?), which drops a byte order mark: use express.raw({ type: "*/*" }).'
      return { body: new TextEncoder().encode(kept), hint }
    }
  }
  // Only a stream that was read before us needs it, and to look at the type of each delivery takes its time.
  const isRead = request.readableDidRead || request.readableEnded
  return { body: streamBody(request, isRead ? adviceFor(request) : undefined) }
}

function adviceFor(request: Request): string {
  const type = (['json', 'urlencoded'] as const).find((one) => request.is(one))
  const parser = type && `express.${type}`
  return `Most likely it was ${parser ? `${parser}()` : 'a body parser'}, mounted before tixWebhooks: mount the webhook route before ${parser ? `app.use(${parser}())` : 'it'}, or have the parser keep the bytes: ${parser ?? 'express.json'}({ verify: (req, res, buffer) => { req.rawBody = buffer } }).`
}
