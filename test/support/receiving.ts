import {
  createReceiver,
  type Delivery,
  type DeliveryRecord,
  type ErrorContext,
  type IdempotencyStore,
  memoryStore,
  type Outcome,
  type Receiver,
  type WebhookOptions,
} from 'tix-webhooks'
import { sign } from './deliveries.js'
import { watched } from './watched.js'

export interface Receiving {
  readonly receiver: Receiver
  readonly records: readonly DeliveryRecord[]
  readonly reports: { error: Error & { code?: string }; ctx: ErrorContext }[]
  /** Signs a payload and resolves to its outcome. */
  send(payload: object | string, delivery?: Partial<Delivery>): Promise<Outcome>
}

/** A receiver without a framework, and everything it reports. */
export function receiving<Tx = undefined>(options: Partial<WebhookOptions<unknown, Tx>> = {}): Receiving {
  const reports: Receiving['reports'] = []
  const { options: watchedOptions, records } = watched<Tx>({
    on: { 'event.rescheduled': () => {} },
    onError: (error, ctx) => reports.push({ error: error as Error, ctx }),
    ...options,
  })
  const receiver = createReceiver(watchedOptions)
  return {
    receiver,
    records,
    reports,
    async send(payload, delivery = {}) {
      return receiver.receive({ ...(await sign(payload)), request: null, ...delivery })
    },
  }
}

/** A store whose methods can be replaced one by one, over a real one. */
export function storeWith(methods: Partial<IdempotencyStore>, base: IdempotencyStore = memoryStore()) {
  const store: IdempotencyStore = {
    claim: (request) => base.claim(request),
    renew: (lease, leaseMs) => base.renew(lease, leaseMs),
    complete: (lease, retainMs) => base.complete(lease, retainMs),
    release: (lease) => base.release(lease),
    ...methods,
  }
  return { store, namespace: 'test', base }
}
