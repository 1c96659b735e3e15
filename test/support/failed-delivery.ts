import type { FailedDelivery } from 'tix-webhooks'

/** A delivery that failed on 2026-11-24 at 10:00:00.123, by default. */
export function failedDelivery(given: Partial<FailedDelivery> = {}): FailedDelivery {
  return {
    key: 'test/order.created/ord_1',
    namespace: 'test',
    kind: 'order.created',
    rawBody: new TextEncoder().encode('{"type":"order.created"}'),
    signedAt: new Date('2026-11-24T09:59:59.001Z'),
    secretIndex: 0,
    failedAt: new Date('2026-11-24T10:00:00.123Z'),
    code: 'handler_failed',
    message: 'no such column',
    group: '0123456789abcdef',
    isReplay: false,
    ...given,
  }
}
