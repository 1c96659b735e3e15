import type { HeaderValue } from '../signature/header.js'
import type { BodyReader } from './body/body.js'

/** One request in plain values: an adapter makes it from the framework's request. */
export interface Delivery<Request = unknown> {
  /** The value of the header that `headerName` names. */
  readonly header: HeaderValue
  /** The exact bytes, or a reader of them; reading counts against the deadline. */
  readonly body: Uint8Array | BodyReader
  /** The framework's own request, for handlers and the secret function. */
  readonly request: Request
  /** The argument of the platform beside the request, for `ctx.platform`: a Worker's bindings, SvelteKit's event, Deno's connection. */
  readonly platform?: unknown
  /** The HTTP method. Pass it unless a router has checked it: all but POST are refused. */
  readonly method?: string | undefined
  /** The request's `content-encoding`: the bytes are never inflated, and the error for a wrong signature names it. */
  readonly contentEncoding?: string | null | undefined
  /** Another possible explanation for a signature that does not match, if the adapter knows one. */
  readonly hint?: string | undefined
  /** Whether the request was answered by other code meanwhile: ours then cannot be sent, and that is reported. */
  readonly isAnswered?: (() => boolean) | undefined
  /** Keeps the runtime alive for a run whose client goes away, or that outlives the answer, if the runtime would stop then. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
  /** The request's path, for the default report. It is called when something is reported. */
  readonly path?: (() => string | undefined) | undefined
  /**
   * Writes a line of the default report, with the error that the user's own code threw if there is one. Default `console.error`, with the
   * stack.
   */
  readonly log?: ((line: string, thrown?: unknown) => void) | undefined
}

/** A delivery, or the replay of one, which may have no request. */
export interface AnyDelivery<Request = unknown> extends Delivery<Request> {
  /** Whether `request` can be read. Default true. */
  readonly hasRequest?: boolean
}

/** An authentic delivery, or the replay of one. */
export interface AuthenticDelivery {
  readonly rawBody: Uint8Array
  readonly signedAt: Date
  readonly secretIndex: number
  /** As the user's function returned it. */
  readonly account: unknown
}

/** A possible reason why the signature does not match, if one is known. */
export function mismatchHint({ contentEncoding, hint }: Delivery): string | undefined {
  // Only a possible name of a coding is quoted: it comes from a stranger, and goes to a log.
  const isCoded =
    contentEncoding &&
    contentEncoding !== 'identity' &&
    /^[\w-]{1,20}(, ?[\w-]{1,20}){0,4}$/.test(contentEncoding)
  if (!isCoded) return hint
  const encodingHint = `The request has content-encoding: ${contentEncoding}: did a layer in between compress the body, or inflate it, after it was signed?`
  return hint === undefined ? encodingHint : `${hint} ${encodingHint}`
}
