import type { IdempotencyStore } from 'tix-webhooks'

/** The numbers of events that the stores remember. */
export interface Counts {
  readonly few: number
  readonly many: number
}

/** A store with few events compared with a store with many. */
export interface Full {
  readonly name: string
  readonly few: IdempotencyStore
  readonly many: IdempotencyStore
  readonly sizes: readonly Size[]
  close(): Promise<void>
}

interface Size {
  readonly what: string
  readonly bytesPerEvent: number
}
