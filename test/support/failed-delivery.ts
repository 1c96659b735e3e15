import type { FailedDelivery } from 'tix-webhooks'

/** A delivery that failed, kept for thirty days. */
export function failedDelivery(given: Partial<FailedDelivery> = {}): FailedDelivery {
  return {
    key: 'test/order.created/ord_1',
    namespace: 'test',
    kind: 'order.created',
    rawBody: new TextEncoder().encode('{"type":"order.created"}'),
    signedAt: new Date('2026-11-24T09:59:59.001Z'),
    secretIndex: 0,
    code: 'handler_failed',
    message: 'no such column',
    group: '0123456789abcdef',
    isReplay: false,
    retainMs: 30 * 86_400_000,
    ...given,
  }
}
