import type { Context, Env, Next } from 'hono'
import { removePresetHeaders, requestBody, toResponse } from '../src/fetch.js'
import {
  type Account,
  type BodyReader,
  ConfigurationError,
  type Operations,
  type SchemaMap,
  type StandardSchemaV1,
  type WebhookOptions,
} from '../src/index.js'
import { answerWrongHost, createRouteReceiver, operationsOf } from '../src/internal.js'

/** A handler of Hono 4. */
export interface HonoWebhooks<E extends Env = Env> extends Operations<Context<E>> {
  /** `next` is not called; without it, Express would take this for an error handler, and compile. */
  (c: Context<E>, next?: Next): Promise<Response>
}

/** With a type argument TypeScript infers nothing else; its error then names what works. */
type NotBesideATypeArgument = Record<
  string,
  StandardSchemaV1 & 'pass no type argument, and annotate: secret: (c: Context<AppEnv>) => c.env.SECRET'
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
  const receiver = createRouteReceiver(tixWebhooks, options as WebhookOptions<Context, Tx, Schemas, Found>)

  async function handle(c: Context<E>, next?: Next): Promise<Response> {
    const wrong = answerWrongHost('hono', [c, next], options.onError)
    if (wrong !== undefined) return wrong.returned as Response
    const { incoming, outgoing } = (c.env ?? {}) as NodeEnv
    const outcome = await receiver.receive({
      header: c.req.header(receiver.headerName),
      request: c,
      path: () => c.req.path,
      contentEncoding: c.req.header('content-encoding'),
      ...bodyOf(c, incoming),
      // Hono keeps an answer that a middleware has set, and sends nothing once Node's response is begun.
      isAnswered: () => c.finalized || outgoing?.headersSent === true,
      // Not on Node, for which Hono makes an error if the context is read: a fifth of a delivery's time.
      waitUntil: incoming === undefined ? (work) => c.executionCtx.waitUntil(work) : undefined,
    })
    // Hono merges the headers that a middleware has set into our answer.
    removePresetHeaders((name) => c.header(name))
    return toResponse(outcome, c.req.raw)
  }

  return Object.assign(handle, operationsOf(receiver))
}

/** Hono's cache of a body that was read. Its own type does not say that these are promises. */
interface CachedBody {
  arrayBuffer?: Promise<ArrayBuffer>
  text?: Promise<string>
  blob?: Promise<Blob>
}

/** The body that was read before us, if Hono kept it as it was sent; else the request's own, which is cached for later readers. */
function bodyOf(c: Context, incoming: NodeEnv['incoming']): { body: BodyReader; hint?: string } {
  const cache: CachedBody = c.req.bodyCache as object
  const { arrayBuffer, text, blob } = cache
  if (arrayBuffer !== undefined) return { body: async () => new Uint8Array(await arrayBuffer) }
  if (blob !== undefined) return { body: async () => new Uint8Array(await (await blob).arrayBuffer()) }
  if (text !== undefined) {
    const hint =
      'The body was read as text or JSON before us, which drops a byte order mark: read it with c.req.arrayBuffer().'
    return { body: async () => new TextEncoder().encode(await text), hint }
  }
  const reader = requestBody(c.req.raw, {
    advice:
      'A middleware before tixWebhooks read it as a form, or through c.req.raw: mount the webhook route before it, or read with c.req.arrayBuffer().',
  })
  const read = async (maxBytes: number): Promise<Uint8Array> => {
    const { raw } = c.req
    const isNodes = isUntouched(raw, incoming)
    let bytes: Uint8Array
    if (isNodes && isBounded(incoming, maxBytes)) {
      bytes = new Uint8Array(await raw.arrayBuffer())
    } else {
      // The reader refuses a declared length over the limit, before anything touches the body.
      const isRefused = Number(c.req.header('content-length')) > maxBytes
      if (isNodes && !isRefused && isConsumed(incoming)) throw consumed()
      bytes = await reader(maxBytes)
    }
    // A copy: a Buffer's own memory holds more than its bytes, and others may write to theirs.
    cache.arrayBuffer = Promise.resolve(new Uint8Array(bytes).buffer)
    return bytes
  }
  read.cancel = reader.cancel
  read.isCutOff = reader.isCutOff
  return { body: read as BodyReader }
}

/** The part of `c.env` that is @hono/node-server's. On another runtime, a variable or a binding may have the same name. */
interface NodeEnv {
  readonly incoming?: Incoming | undefined
  readonly outgoing?: { readonly headersSent?: boolean } | undefined
}

interface Incoming {
  readonly headers?: { 'content-length'?: string; 'transfer-encoding'?: string }
  readonly httpVersionMajor?: number
  readonly readableDidRead?: boolean
  /** The body, if the host of a cloud function has read it. */
  readonly rawBody?: unknown
}

/**
 * Whether the body is still the one of `incoming`: a middleware has neither replaced it, as one that inflates does, nor read it.
 */
function isUntouched(raw: Request, incoming: Incoming | undefined): incoming is Incoming {
  if (incoming === undefined || raw.bodyUsed) return false
  // The server's own request holds Node's under a symbol, and the web-standard one once it was asked for.
  let isNodes = false
  for (const key of Object.getOwnPropertySymbols(raw)) {
    const inner: unknown = Reflect.get(raw, key)
    if (inner === incoming) isNodes = true
    else if (inner instanceof Request) return false
  }
  return isNodes
}

function isConsumed({ readableDidRead, rawBody }: Incoming): boolean {
  return readableDidRead === true && !(rawBody instanceof Uint8Array)
}

function consumed(): ConfigurationError {
  return new ConfigurationError(
    'A middleware before tixWebhooks read the request body through c.env.incoming, so its exact bytes are gone and the signature cannot be checked: mount the webhook route before it, or read with c.req.arrayBuffer().',
  )
}

/** The server keeps each chunk of a body that it reads at once, and a sender may have sent it byte by byte: some 0.8 MB then. */
const MAX_AT_ONCE_BYTES = 4_096

/**
 * Whether Node itself ensures that the body is within this limit and ours, so that it can be read at once: under @hono/node-server,
 * a web stream costs more than all the rest of a delivery.
 */
function isBounded({ headers, readableDidRead, httpVersionMajor }: Incoming, maxBytes: number): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers ?? {}
  // With both, which a lenient parser lets through, the chunks decide and not the length.
  const isDeclared = length !== undefined && coding === undefined
  // One connection of HTTP/2 has a hundred such bodies at the same time.
  if (httpVersionMajor !== 1) return false
  return isDeclared && !readableDidRead && Number(length) <= Math.min(maxBytes, MAX_AT_ONCE_BYTES)
}
