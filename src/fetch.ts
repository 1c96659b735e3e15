import type { SchemaMap } from './event/schema.js'
import { isCutOff, nodeRequestUnder } from './lib/node-request.js'
import { removePresetHeaders } from './lib/preset-headers.js'
import { alreadyRead, type BodyReader, checkChunk, tooLarge } from './receiver/body.js'
import type { WebhookOptions } from './receiver/options.js'
import { answerTo, type Outcome } from './receiver/outcome.js'
import { createReceiver, type Receiver } from './receiver/receiver.js'
import { answerWrongHost, type HostName } from './receiver/wrong-host.js'

export { answerWrongHost, type HostName, removePresetHeaders }

/** What of the platform's context keeps a timed-out handler alive: a Worker's `ctx`, Next's `{ waitUntil }`. */
export interface FetchContext {
  waitUntil?(work: Promise<unknown>): void
}

/** Anything but a request of Express, which else would take the handler for an error handler, and compile. */
type Platform = (object & { readonly originalUrl?: never }) | null

/** A web-standard handler. */
export interface FetchWebhooks extends Pick<Receiver, 'drain'> {
  (request: Request, context?: FetchContext): Promise<Response>
  /** Whatever a platform passes second: Next's route, Deno's connection, Bun's server. */
  (request: Request, platform?: Platform): Promise<Response>
}

/**
 * Receives the service's webhooks wherever a `Request` comes in and a `Response` goes out: Next, SvelteKit, Bun, Deno,
 * Workers. All but POST is answered 405.
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
export function tixWebhooks<Tx = undefined, Schemas extends SchemaMap<keyof Schemas> = Record<never, never>>(
  options: WebhookOptions<Request, Tx, Schemas>,
): FetchWebhooks {
  const receiver = createReceiver(options, tixWebhooks)

  async function handle(request: Request, platform?: unknown): Promise<Response> {
    const wrong = answerWrongHost('fetch', [request, platform], options.onError)
    if (wrong !== undefined) return wrong.returned as Response
    const context = platform as FetchContext | null | undefined
    const outcome = await receiver.receive({
      header: request.headers.get(receiver.headerName),
      body: requestBody(request),
      request,
      path: () => new URL(request.url).pathname,
      method: request.method,
      contentEncoding: request.headers.get('content-encoding'),
      waitUntil: (work) => context?.waitUntil?.(work),
    })
    return toResponse(outcome, request)
  }

  return Object.assign(handle, { drain: receiver.drain })
}

/** The `Response` to an outcome, and to a request of whichever version of HTTP. */
export function toResponse(outcome: Outcome, request?: Request): Response {
  const { status, headers, body } = answerTo(outcome)
  const sent = { ...headers }
  // HTTP/2 forbids it.
  if ('connection' in sent && request !== undefined && nodeRequestUnder(request)?.httpVersionMajor === 2) {
    delete sent.connection
  }
  return new Response(body, { status, headers: sent })
}

/**
 * A bounded reader of a request's body, for adapters of web-standard frameworks.
 *
 * @param advice how to fix it where the body was read before: what the refusal says
 * @returns a reader that refuses as `misconfigured` where the body was read before
 * @example
 * ```ts
 * const outcome = await receiver.receive({ header, body: requestBody(request), request })
 * ```
 */
export function requestBody(
  request: Request,
  advice = 'Pass the request before anything reads it, or a request.clone() of it.',
): BodyReader {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  async function read(maxBytes: number): Promise<Uint8Array> {
    // Before the body is touched: @hono/node-server would begin to read it, and the client not see the answer.
    const declared = Number(request.headers.get('content-length'))
    if (declared > maxBytes) throw tooLarge(maxBytes)
    if (request.bodyUsed || request.body?.locked) {
      throw alreadyRead(advice)
    }
    if (request.body === null) return new Uint8Array()
    reader = request.body.getReader()
    const chunks: Uint8Array[] = []
    let length = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) {
        // Read by somebody else before, out of our sight.
        if (length === 0 && declared > 0 && !request.signal?.aborted) throw alreadyRead(advice)
        return joined(chunks, length)
      }
      try {
        checkChunk(value)
      } catch (error) {
        cancel()
        throw error
      }
      length += value.length
      if (length > maxBytes) {
        cancel()
        throw tooLarge(maxBytes)
      }
      chunks.push(value)
    }
  }

  function cancel(): void {
    reader?.cancel().catch(() => {})
  }

  function hasGone(): boolean | Promise<boolean> {
    const nodes = nodeRequestUnder(request)
    return nodes === undefined ? request.signal?.aborted : isCutOff(nodes)
  }

  read.cancel = cancel
  read.isCutOff = hasGone
  return read
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length === 1) return chunks[0] as Uint8Array
  const whole = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.length
  }
  return whole
}
