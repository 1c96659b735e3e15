import type { HeaderValue } from '../signature/header.js'
import type { BodyReader } from './body.js'

/** One request, in plain values: what an adapter makes of its framework's. */
export interface Delivery<Request = unknown> {
  /** The value of the header that `headerName` names. */
  readonly header: HeaderValue
  /** The exact bytes, or how to read them; reading counts against the deadline. */
  readonly body: Uint8Array | BodyReader
  /** The framework's own request, for handlers and the secret function. */
  readonly request: Request
  /** Given where no router has looked at the method: all but POST are refused. */
  readonly method?: string | undefined
  /** The request's `content-encoding`: the bytes are never inflated, and a signature that does not match names it. */
  readonly contentEncoding?: string | null | undefined
  /** What else may explain a signature that does not match, as far as the adapter knows. */
  readonly hint?: string | undefined
  /** Whether somebody else has answered the request meanwhile: ours then cannot be sent, and that is reported. */
  readonly isAnswered?: (() => boolean) | undefined
  /** Where the runtime stops with the answer: keeps it alive for a handler that goes on. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
  /** The request's path, for the default report. It is called when something is reported. */
  readonly path?: (() => string | undefined) | undefined
  /**
   * Where a line of the default report goes, with what the user's own code threw if it is about that. Default `console.error`,
   * with the stack.
   */
  readonly log?: ((line: string, thrown?: unknown) => void) | undefined
}

/** What may explain a signature that does not match. */
export function mismatchHint({ contentEncoding, hint }: Delivery): string | undefined {
  // Only what can be the name of a coding is quoted: it comes from a stranger, and goes to a log.
  const isCoded =
    contentEncoding &&
    contentEncoding !== 'identity' &&
    /^[\w-]{1,20}(, ?[\w-]{1,20}){0,4}$/.test(contentEncoding)
  if (!isCoded) return hint
  const encodingHint = `The request has content-encoding: ${contentEncoding}: did a layer in between compress the body, or inflate it, after it was signed?`
  return hint === undefined ? encodingHint : `${hint} ${encodingHint}`
}
