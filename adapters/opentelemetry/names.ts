/** The instrumentation scope of all spans and metrics. */
export const SCOPE = 'tix-webhooks'

/** The attributes by which the messaging conventions know a run. */
export const SYSTEM = { 'messaging.system': 'tix_webhooks', 'messaging.operation.name': 'process' } as const

/** The attribute that names the account, on spans and, by option, on the counter of deliveries. */
export const ACCOUNT = 'tix_webhooks.account'

/** The attribute that names the receiver's namespace on the gauge of failures. */
export const NAMESPACE = 'tix_webhooks.namespace'

/** The attribute of replays, on spans and on the counter of deliveries; absent otherwise. */
export const REPLAYED = 'tix_webhooks.replayed'
