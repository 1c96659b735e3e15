import type { Context, Env, Next } from 'hono'
import type { Account, BodyReader, Operations, SchemaMap, WebhookOptions } from '../src/index.js'
import { answerWrongHost, createReceiverFor, operationsOf } from '../src/internal.js'
import { removePresetHeaders, requestBody, toResponse } from './fetch.js'

/** A handler of Hono 4. */
export interface HonoWebhooks<E extends Env = Env> extends Operations<Context<E>> {
  /** `next` is not called; without it, Express would take this for an error handler, and compile. */
  (c: Context<E>, next?: Next): Promise<Response>
}

/** With a type argument TypeScript infers nothing else; its error then names what works. */
type NotBesideATypeArgument = Record<
  string,
  SchemaMap[string] & 'pass no type argument, and annotate: secret: (c: Context<AppEnv>) => c.env.SECRET'
>

/** While TypeScript looks for a type of `E`, it is `never` here: a function around the options then gets a context all the same. */
type ContextOf<E extends Env> = [E] extends [never] ? Context<Env> : Context<E>

/**
 * Receives the service's webhooks in a Hono app, on any runtime. The bytes are left in Hono's body cache for others.
 *
 * @throws TypeError that names the option and the fix
 * @example
 * ```ts
 * app.post('/hooks', tixWebhooks({
 *   secret: (c: Context<AppEnv>) => c.env.TIX_SIGNING_SECRET, // a binding: c needs its type. On Node: process.env.TIX_SIGNING_SECRET
 *   on: { 'order.created': async (event) => issueTickets(event.data.order.id) },
 * }))
 * ```
 */
export function tixWebhooks<
  E extends Env = Env,
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = NotBesideATypeArgument,
  Found extends Account | undefined = undefined,
>(options: WebhookOptions<ContextOf<E>, Tx, Schemas, Found>): HonoWebhooks<E> {
  const receiver = createReceiverFor(tixWebhooks, options as WebhookOptions<Context, Tx, Schemas, Found>)

  async function handle(c: Context<E>, next?: Next): Promise<Response> {
    const wrong = answerWrongHost('hono', [c, next], options.onError)
    if (wrong !== undefined) return wrong.returned as Response
    const { outgoing } = (c.env ?? {}) as { outgoing?: { headersSent?: boolean } }
    const outcome = await receiver.receive({
      header: c.req.header(receiver.headerName),
      request: c,
      path: () => c.req.path,
      contentEncoding: c.req.header('content-encoding'),
      ...bodyOf(c),
      // Hono keeps an answer that a middleware has set, and sends nothing once Node's response has begun.
      isAnswered: () => c.finalized || outgoing?.headersSent === true,
      // Not on Node, for which Hono makes an error if the context is read: a fifth of a delivery's time.
      waitUntil: 'incoming' in (c.env ?? {}) ? undefined : (work) => c.executionCtx.waitUntil(work),
    })
    // Hono merges the headers that a middleware has set into our answer.
    removePresetHeaders((name) => c.header(name))
    return toResponse(outcome, c.req.raw)
  }

  return Object.assign(handle, operationsOf(receiver))
}

/** The body that was read before us, if Hono kept it as it was sent; else the request's own, which is cached for later readers. */
function bodyOf(c: Context): { body: BodyReader; hint?: string | undefined } {
  const cache: { arrayBuffer?: Promise<ArrayBuffer> } = c.req.bodyCache as object
  const [kept = ''] = Object.keys(cache)
  if (['arrayBuffer', 'blob', 'text'].includes(kept)) {
    const body = async (): Promise<Uint8Array> => new Uint8Array(await c.req.arrayBuffer())
    return { body, hint: kept === 'text' ? TEXT_HINT : undefined }
  }
  const reader = requestBody(c.req.raw, { advice: ADVICE })
  const read = async (maxBytes: number): Promise<Uint8Array> => {
    const bytes = await reader(maxBytes)
    // A copy: a Buffer's own memory holds more than its bytes, and others may write to theirs.
    cache.arrayBuffer = Promise.resolve(new Uint8Array(bytes).buffer)
    return bytes
  }
  return { body: Object.assign(read, reader) }
}

const TEXT_HINT =
  'The body was read as text or JSON before tixWebhooks, which drops a byte order mark: read it with c.req.arrayBuffer().'

const ADVICE =
  'A middleware before tixWebhooks read it as a form, or through c.req.raw or c.env.incoming: mount the webhook route before it, or read with c.req.arrayBuffer().'
