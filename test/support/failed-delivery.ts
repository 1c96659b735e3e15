import type { FailedDelivery } from 'tix-webhooks'

/** A delivery that failed, as a receiver gives it to `keep`. */
export function failed(overrides: Partial<FailedDelivery> = {}): FailedDelivery {
  return {
    key: 'n/k',
    namespace: 'n',
    kind: 'order.created',
    rawBody: new TextEncoder().encode('{"id":"evt_1"}'),
    signedAt: new Date(Date.UTC(2026, 4, 17, 13, 59, 58)),
    secretIndex: 0,
    failedAt: new Date(Date.UTC(2026, 4, 17, 14, 0, 0, 123)),
    code: 'handler_failed',
    message: 'no ink',
    group: '0123456789abcdef',
    isReplay: false,
    ...overrides,
  }
}
