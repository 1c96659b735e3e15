import type { Mode } from '../domain/mode.js'

/** One request to the API. */
export interface RequestRecord {
  /** The one of the header `x-request-id`. */
  readonly id: string
  /** ISO 8601 UTC, virtual time. */
  readonly at: string
  readonly method: string
  /** The path with its query. */
  readonly path: string
  /** null if the request had no valid key. */
  readonly mode: Mode | null
  /** The last four characters of the key. */
  readonly keyEnd: string | null
  /** 0 if the connection was closed without an answer, by a fault that was asked for. */
  readonly status: number
  /** The code of the error that was answered. */
  readonly errorCode?: string
  readonly errorMessage?: string
  /** A note for people, such as that the `Idempotency-Key` was ignored. */
  readonly note?: string
}
