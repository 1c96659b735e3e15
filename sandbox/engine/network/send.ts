import type { AttemptResponse } from '../record/records.js'

/** A request as it goes out. */
export interface OutgoingRequest {
  readonly url: string
  /** Names in lower case. The sender adds `content-length`, `transfer-encoding` and `connection`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** The limit from the start of the request to the end of the answer; 0 is no limit. */
  readonly timeoutMs: number
  /** How the body travels: whole (the default), in chunks without a length, few or of one byte, or slowly. */
  readonly transport?: 'whole' | 'chunked' | 'tiny-chunks' | 'slow'
  /** Aborts when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}

/** An answer of any status, or the reason why there is none. */
export type SendResult =
  | { readonly response: AttemptResponse; readonly error?: undefined }
  | { readonly response?: undefined; readonly error: { readonly code: string; readonly message: string } }

/** Sends a request once: over the network, or to a handler in this process. The promise never rejects, and settles when the signal aborts, if not before. */
export type Send = (request: OutgoingRequest) => Promise<SendResult>
