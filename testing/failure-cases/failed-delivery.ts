import type { FailedDelivery } from '../../src/index.js'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

let start: number | undefined

/** This many minutes after the start, which is a day before the first case, so that no retention is over. */
export function at(minutes: number): Date {
  // Not when the module is loaded: some runtimes have no clock yet.
  start ??= Math.floor(Date.now() / 1000) * 1000 - DAY_MS + 123
  return new Date(start + minutes * MINUTE_MS)
}

/** This many days ago. */
export function daysAgo(days: number): Date {
  return new Date(Date.now() - days * DAY_MS)
}

/** A hundred such bodies are more than a megabyte, which is the most that some backends read at once. */
export const manyBytes = (): Uint8Array => new Uint8Array(11_000)

/** Makes deliveries that failed, each with all fields. */
export function deliveryMaker(namespace: string) {
  /** @param name the end of the key, which two deliveries of one event share */
  return (name: string, given: Partial<FailedDelivery> = {}): FailedDelivery => ({
    key: `${namespace}/${name}`,
    namespace,
    account: 'acct_1',
    kind: 'order.created',
    eventId: 'evt_1',
    orderId: 'ord_1',
    rawBody: encode('{"type":"order.created"}'),
    signedAt: new Date((given.failedAt ?? at(0)).getTime() - 1_000),
    secretIndex: 0,
    failedAt: at(0),
    code: 'handler_failed',
    message: 'The handler failed: the stock is unknown.',
    group: '0123456789abcdef',
    isReplay: false,
    ...given,
  })
}

/** Without the fields that not every delivery has. */
export function withoutOptional(failed: FailedDelivery): FailedDelivery {
  const { account: _, eventId: __, orderId: ___, ...rest } = failed
  return rest
}
