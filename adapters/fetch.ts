import {
  type Account,
  answerTo,
  type BodyReader,
  type Operations,
  type Outcome,
  type SchemaMap,
  type WebhookOptions,
} from '../src/index.js'
import {
  alreadyRead,
  answerWrongHost,
  CANCEL_AFTER_MS,
  checkLength,
  createReceiverFor,
  ignoreRejection,
  operationsOf,
  startBackgroundTimer,
} from '../src/internal.js'
import { ByteCollector } from './http/byte-collector.js'
import { canReadAtOnce, isCutOff, nodeBodyUnder, nodeRequestUnder, wasRead } from './http/node-request.js'
import { removePresetHeaders } from './http/preset-headers.js'

export { removePresetHeaders }

/** The part of the platform's context that keeps a run alive if its client goes away, or it outlives the answer: a Worker's `ctx`, Next's `{ waitUntil }`. */
export interface FetchContext {
  waitUntil?(work: Promise<unknown>): void
}

/** Anything but an Express request: Express would otherwise accept the handler as an error handler, and it would compile. */
type Platform = (object & { readonly originalUrl?: never }) | null

/** A web-standard handler. */
export interface FetchWebhooks extends Operations<Request> {
  (request: Request, context?: FetchContext): Promise<Response>
  /** @param platform the platform's second argument: Next's route, Deno's connection, Bun's server */
  (request: Request, platform?: Platform): Promise<Response>
}

/**
 * Receives the service's webhooks on any platform with `Request` and `Response`: Next, SvelteKit, Bun, Deno, Workers. Methods other than
 * POST get 405.
 *
 * @throws TypeError that names the option and the fix
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 *
 * export const POST = tixWebhooks({
 *   secret: () => process.env.TIX_SIGNING_SECRET, // a function: `next build` runs without it
 *   on: { 'order.created': async (event) => issueTickets(event.data.order.id) },
 * })
 * ```
 */
export function tixWebhooks<
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = Record<never, never>,
  Found extends Account | undefined = undefined,
>(options: WebhookOptions<Request, Tx, Schemas, Found>): FetchWebhooks {
  const receiver = createReceiverFor(tixWebhooks, options)

  async function handle(request: Request, platform?: unknown): Promise<Response> {
    const wrong = answerWrongHost('fetch', [request, platform], options.onError)
    if (wrong !== undefined) return wrong.returned as Response
    const context = platform as FetchContext | null | undefined
    const outcome = await receiver.receive({
      header: request.headers.get(receiver.headerName),
      body: requestBody(request),
      request,
      platform,
      path: () => new URL(request.url).pathname,
      method: request.method,
      contentEncoding: request.headers.get('content-encoding'),
      waitUntil: (work) => context?.waitUntil?.(work),
    })
    return toResponse(outcome, request)
  }

  return Object.assign(handle, operationsOf(receiver))
}

/**
 * The `Response` for an outcome, for adapters of web-standard frameworks.
 *
 * @param request the request that it answers: its version of HTTP decides which headers there may be
 * @example
 * ```ts
 * const outcome = await receiver.receive({ header, body: requestBody(request), request })
 * const response = toResponse(outcome, request)
 * ```
 */
export function toResponse(outcome: Outcome, request: Request): Response {
  // On Node it may be HTTP/2; other platforms remove the headers that their version forbids.
  const httpVersionMajor = nodeRequestUnder(request)?.httpVersionMajor
  const { status, headers, body } = answerTo(outcome, { httpVersionMajor })
  return new Response(body, { status, headers })
}

export interface RequestBodyOptions {
  /** How to fix it if the body was already read: the end of the refusal's message. Default: to pass the request before anything reads it. */
  advice?: string | undefined
}

/**
 * A bounded reader of a request's body, for adapters of web-standard frameworks.
 *
 * @returns a reader that refuses as `misconfigured` if the body was already read
 * @example
 * ```ts
 * const outcome = await receiver.receive({ header, body: requestBody(request), request })
 * ```
 */
export function requestBody(
  request: Request,
  {
    advice = 'Pass the request before anything reads it, or a request.clone() of it.',
  }: RequestBodyOptions = {},
): BodyReader {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  async function read(maxBytes: number): Promise<Uint8Array> {
    // Before the body is touched: @hono/node-server would start reading it, and the client would not see the answer.
    const declared = Number(request.headers.get('content-length'))
    checkLength(declared, maxBytes)
    const onNode = nodeBodyUnder(request)
    if (onNode !== undefined) {
      if (wasRead(onNode)) throw alreadyRead(advice)
      if (canReadAtOnce(onNode, maxBytes)) return new Uint8Array(await request.arrayBuffer())
    }
    if (request.bodyUsed || request.body?.locked) throw alreadyRead(advice)
    if (request.body === null) return new Uint8Array()
    reader = request.body.getReader()
    const collector = new ByteCollector(maxBytes)
    for (;;) {
      const { done, value } = await reader.read()
      if (done) {
        // Already read by other code, which left no trace.
        if (collector.length === 0 && declared > 0 && !request.signal?.aborted) throw alreadyRead(advice)
        return collector.join()
      }
      try {
        collector.add(value)
      } catch (error) {
        cancelLater()
        throw error
      }
    }
  }

  /** Not at once: SvelteKit cuts the connection when its stream is cancelled, and the client would not see the answer. */
  function cancelLater(): void {
    startBackgroundTimer(() => ignoreRejection(reader?.cancel()), CANCEL_AFTER_MS)
  }

  function hasGone(): boolean | Promise<boolean> {
    const nodes = nodeRequestUnder(request)
    return nodes === undefined ? request.signal?.aborted : isCutOff(nodes)
  }

  read.cancel = cancelLater
  read.isCutOff = hasGone
  return read
}
