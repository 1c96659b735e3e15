import {
  type IdempotencyStore,
  type Ledger,
  type LedgerStore,
  memoryStore,
  type WebhookOptions,
} from 'tix-webhooks'
import { vi } from 'vitest'
import { orderCreated } from './deliveries.js'
import { ledgerInbox } from './honest-inbox.js'
import { receiving } from './receiving.js'

export const MESSAGE = 'the printer is out of paper'
export const ORDER = orderCreated({ id: 'ord_1' })
/** An event of the same key that does not fit its kind. */
export const BROKEN = { ...ORDER, data: { ...ORDER.data, tickets: 'none' } }
/** The key of both. */
export const KEY = 'orders/order.created/ord_1'

/** A ledger, and the options with which a receiver uses it. */
export interface Kept {
  readonly ledger: Ledger
  readonly options: Partial<WebhookOptions>
}

/** A memory store, some of whose methods may be replaced. */
export function inStore(methods: Partial<LedgerStore> = {}, base = memoryStore()) {
  const store: LedgerStore = { ...base, ...methods }
  return { store, ledger: store.ledger, options: { store } }
}

/** One whose answers are promises, as those of a database. */
function inLaterStore() {
  const { store } = inStore()
  const later = Object.entries(store).map(([name, value]) => [
    name,
    typeof value === 'function' ? async (...args: readonly unknown[]) => value(...args) : value,
  ])
  return inStore(Object.fromEntries(later))
}

export function inInbox(options?: Parameters<typeof ledgerInbox>[0]) {
  const { inbox } = ledgerInbox(options)
  return { inbox, ledger: inbox.ledger, options: { inbox: inbox as never } }
}

export const LEDGERS: readonly [string, () => Kept][] = [
  ['a store', inStore],
  ['a store that answers later', inLaterStore],
  ['a store that is a function', () => byRequest('store', inStore())],
  ['an inbox', inInbox],
  ['an inbox that is a function', () => byRequest('inbox', inInbox())],
]

function byRequest(option: 'store' | 'inbox', { ledger, options }: Kept): Kept {
  const backend = options[option] as IdempotencyStore
  return { ledger, options: { [option]: () => backend } }
}

/** A receiver on a ledger, with a handler that is watched and throws. */
export function failing(given: Partial<WebhookOptions> = {}, { ledger, options }: Kept = inStore()) {
  const handler = vi.fn((..._: unknown[]): unknown => {
    throw new Error(MESSAGE)
  })
  const on = { 'order.created': handler, 'event.*': handler }
  return { ledger, handler, ...receiving({ on, namespace: 'orders', ...options, ...given }) }
}
