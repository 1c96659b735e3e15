import type { NextFunction, Request, Response } from 'express'
import type { Account, BodyReader, Operations, SchemaMap, WebhookOptions } from '../src/index.js'
import { answerWrongHost, createReceiverFor, operationsOf } from '../src/internal.js'
import { receiveRequest, sendFailure, streamBody } from './node.js'

/** A request handler of Express 4 or 5. */
export interface ExpressWebhooks extends Operations<Request> {
  (request: Request, response: Response, next: NextFunction): Promise<void>
  /** Called without `next`: methods other than POST get 405. */
  (request: Request, response: Response): Promise<void>
}

/** While TypeScript looks for a type of `Params`, it is `never` here: a function around the options then gets a request all the same. */
type RequestOf<Params> = [Params] extends [never] ? Request : Request<Params>

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
export function tixWebhooks<
  Params = Request['params'],
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = Record<never, never>,
  Found extends Account | undefined = undefined,
>(options: WebhookOptions<RequestOf<Params>, Tx, Schemas, Found>): ExpressWebhooks {
  // Which parameters there are, only the app's routes know.
  const plain = options as WebhookOptions<Request, Tx, Schemas, Found>
  const receiver = createReceiverFor(tixWebhooks, plain)

  async function handle(request: Request, response: Response, next?: NextFunction): Promise<void> {
    const wrong = answerWrongHost('express', [request, response], plain.onError)
    if (wrong !== undefined) return wrong.returned as undefined
    try {
      if (request.method !== 'POST' && typeof next === 'function') return next()
      await receiveRequest(receiver, request, response, {
        path: () => request.originalUrl,
        ...bodyOf(request),
      })
    } catch (error) {
      // Neither a rejection, which Express 4 ignores, nor `next(error)`: a response that throws would throw again in Express's error
      // handler, in a later turn, and end the process.
      sendFailure(response, error, { request, onError: plain.onError })
    }
  }

  return Object.assign(handle, operationsOf(receiver))
}

/** The bytes that a parser before us has kept, else the stream. `rawBody` is of Cloud Functions and Firebase. */
function bodyOf(request: Request & { rawBody?: unknown }): { body: Uint8Array | BodyReader; hint?: string } {
  const isRead = request.readableDidRead || request.readableEnded
  for (const kept of [request.rawBody, request.body]) {
    // Some parsers set an empty body, and fill it while they read the stream.
    const isKept = isRead || (kept as { length?: number } | null | undefined)?.length !== 0
    if (!isKept) continue
    if (kept instanceof Uint8Array) return { body: kept }
    if (typeof kept === 'string') {
      const hint =
        'The body was read as text before tixWebhooks (express.text()?), which drops a byte order mark: use express.raw({ type: "*/*" }).'
      return { body: new TextEncoder().encode(kept), hint }
    }
  }
  // Advice only for a stream that was read: to look at the type of each delivery takes time.
  return { body: streamBody(request, { advice: isRead ? adviceFor(request) : undefined }) }
}

/** NestJS needs reflect-metadata, as few others do. It mounts the parsers itself. */
const NEST_ADVICE =
  'In NestJS call app.use("/hooks", tixWebhooks({…})) before app.listen(), or pass { rawBody: true } to NestFactory.create(). Elsewhere: '

function adviceFor(request: Request): string {
  const type = (['json', 'urlencoded'] as const).find((one) => request.is(one))
  const parser = type && `express.${type}`
  const nest = 'getMetadata' in Reflect ? NEST_ADVICE : ''
  return `${nest}Most likely it was ${parser ? `${parser}()` : 'a body parser'}, mounted before tixWebhooks: mount the webhook route before ${parser ? `app.use(${parser}())` : 'it'}, or have the parser keep the bytes: ${parser ?? 'express.json'}({ verify: (req, res, buffer) => { req.rawBody = buffer } }).`
}
