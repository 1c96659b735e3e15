import type { AnyEvent, DeliveryRecord, WebhookOptions } from 'tix-webhooks'
import { SECRET } from './deliveries.js'

/** One call of a handler. */
interface WatchedRun {
  readonly event: AnyEvent
  readonly rawBody: Uint8Array
}

/** A receiver's options, and everything it reports. */
export interface Watched<Tx = undefined> {
  readonly options: WebhookOptions<unknown, Tx>
  readonly records: readonly DeliveryRecord[]
  /** The messages of the errors passed to `onError`. */
  readonly reports: readonly string[]
  readonly runs: readonly WatchedRun[]
  /** Resolves when there are this many records: a client that disconnected has no answer to wait for. */
  recorded(count: number): Promise<void>
}

/** Options whose handlers, records and reports are recorded. Overridden ones are not watched. */
export function watched<Tx = undefined>(overrides: Partial<WebhookOptions<unknown, Tx>> = {}): Watched<Tx> {
  const records: DeliveryRecord[] = []
  const reports: string[] = []
  const runs: WatchedRun[] = []
  const waiting = new Set<() => void>()
  const note = (event: AnyEvent, { rawBody }: { rawBody: Uint8Array }): void => {
    runs.push({ event, rawBody })
  }

  return {
    options: {
      secret: SECRET,
      on: { 'order.created': note, 'event.*': note },
      onDelivery: (record) => {
        records.push(record)
        for (const check of waiting) check()
      },
      onError: (error) => {
        reports.push(error instanceof Error ? error.message : String(error))
      },
      ...overrides,
    },
    records,
    reports,
    runs,
    recorded: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (records.length < count) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
  }
}
