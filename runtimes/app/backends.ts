import type { IdempotencyStore } from 'tix-webhooks'
import type { StoreHarness } from 'tix-webhooks/testing'

/** A store or an inbox of a server, over one client library. */
export interface Backend {
  /** To run the cases of every store. */
  readonly harness?: StoreHarness
  /** The option `store` or `inbox` of its endpoint, if deliveries are sent through it. */
  readonly options?:
    | { readonly store: IdempotencyStore | ((request: object) => IdempotencyStore) }
    | { readonly inbox: object }
  /** How many calls of the platform it has made. */
  roundTrips?(): number
  /** Writes a row in the transaction of its inbox. */
  write?(tx: never, id: string): Promise<unknown>
  /** The rows that were committed. */
  rows?(): Promise<readonly string[]>
}

/** By the name of the endpoint. */
export type Backends = Readonly<Record<string, Backend>>
