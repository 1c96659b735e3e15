/** The instrumentation scope of all spans and metrics. */
export const SCOPE = 'tix-webhooks'

/** The name of the span of a run. */
export function spanName(kind: string): string {
  return `process ${kind}`
}

/** The names of the metrics. */
export const METRICS = {
  duration: 'messaging.process.duration',
  age: 'tix_webhooks.delivery.age',
  deliveries: 'tix_webhooks.deliveries',
  failures: 'tix_webhooks.failures',
} as const

/** The attributes by which the messaging conventions know a run. */
export const SYSTEM = { 'messaging.system': 'tix_webhooks', 'messaging.operation.name': 'process' } as const

/** Our own attributes, of spans and metrics. */
export const ATTRIBUTES = {
  /** On spans and, by option, on the counter of deliveries. */
  account: 'tix_webhooks.account',
  attempt: 'tix_webhooks.attempt',
  code: 'tix_webhooks.code',
  kind: 'tix_webhooks.kind',
  /** The receiver's, on the gauge of failures. */
  namespace: 'tix_webhooks.namespace',
  outcome: 'tix_webhooks.outcome',
  /** On spans and on the counter of deliveries; absent unless it is a replay. */
  replayed: 'tix_webhooks.replayed',
  /** Of failures, on their gauge. */
  state: 'tix_webhooks.state',
} as const
