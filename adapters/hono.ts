import type { Context, Env } from 'hono'
import { requestBody, toResponse } from '../src/fetch.js'
import {
  type BodyReader,
  createReceiver,
  type Receiver,
  type SchemaMap,
  type WebhookOptions,
} from '../src/index.js'

/** A handler of Hono 4. */
export interface HonoWebhooks<E extends Env = Env> extends Pick<Receiver, 'drain'> {
  (c: Context<E>): Promise<Response>
}

/**
 * Receives the service's webhooks in a Hono app, on any runtime. The bytes are left in Hono's body cache for others.
 *
 * @throws TypeError that names the option and the fix
 * @example
 * ```ts
 * app.post('/hooks', tixWebhooks({
 *   secret: (c: Context<AppEnv>) => c.env.TIX_SIGNING_SECRET,
 *   on: { 'order.created': async (event) => issueTickets(event.data.order.id) },
 * }))
 * ```
 */
export function tixWebhooks<
  E extends Env = Env,
  Tx = undefined,
  Schemas extends SchemaMap = Record<never, never>,
>(options: WebhookOptions<Context<E>, Tx, Schemas>): HonoWebhooks<E> {
  const receiver = createReceiver(options)

  return Object.assign(
    async (c: Context<E>): Promise<Response> => {
      const outcome = await receiver.receive({
        header: c.req.header(receiver.headerName),
        request: c,
        contentEncoding: c.req.header('content-encoding'),
        ...bodyOf(c),
        waitUntil: (work) => c.executionCtx.waitUntil(work),
      })
      return toResponse(outcome)
    },
    { drain: receiver.drain },
  )
}

/** What Hono keeps of a body that was read; its own type leaves out that these are promises. */
interface CachedBody {
  arrayBuffer?: Promise<ArrayBuffer>
  text?: Promise<string>
  blob?: Promise<Blob>
}

/** What was read before us, if Hono kept it as it was sent; else the request's own body, kept for who comes after us. */
function bodyOf(c: Context): { body: BodyReader; hint?: string } {
  const cache: CachedBody = c.req.bodyCache as object
  const { arrayBuffer, text, blob } = cache
  if (arrayBuffer !== undefined) return { body: async () => new Uint8Array(await arrayBuffer) }
  if (blob !== undefined) return { body: async () => new Uint8Array(await (await blob).arrayBuffer()) }
  if (text !== undefined) {
    const hint =
      'The body was read as text or JSON before us, which drops a byte order mark: read it with c.req.arrayBuffer().'
    return { body: async () => new TextEncoder().encode(await text), hint }
  }
  const reader = requestBody(
    c.req.raw,
    'A middleware before tixWebhooks read it as a form, or through c.req.raw: mount the webhook route before it, or read with c.req.arrayBuffer().',
  )
  const read = async (maxBytes: number): Promise<Uint8Array> => {
    const bytes = await reader(maxBytes)
    // A copy: a Buffer's own memory holds more than its bytes, and others may write to theirs.
    cache.arrayBuffer = Promise.resolve(Uint8Array.from(bytes).buffer)
    return bytes
  }
  return { body: Object.assign(read, { cancel: () => reader.cancel?.() }) }
}
