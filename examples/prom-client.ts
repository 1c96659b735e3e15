// Metrics and logs without OpenTelemetry: onDelivery feeds prom-client and pino. alerts.yaml has alerts on these metrics.
import pino from 'pino'
import { Counter, Gauge, Histogram } from 'prom-client'
import { memoryStore, redactError } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'

const log = pino()
// In your app: a store or an inbox on a database.
export const store = memoryStore()

const deliveries = new Counter({
  name: 'tix_deliveries_total',
  help: 'Deliveries, by their end.',
  labelNames: ['outcome', 'code'],
})
const seconds = new Histogram({
  name: 'tix_delivery_seconds',
  help: 'Time to the answer.',
  labelNames: ['outcome'],
})
const attempts = new Histogram({
  name: 'tix_handled_attempts',
  help: 'Runs that an event took until it was handled.',
  buckets: [1, 2, 3, 5, 10],
})
new Gauge({
  name: 'tix_parked_events',
  help: 'Events that wait for a replay.',
  async collect() {
    // A count that fails leaves the last number.
    await store.ledger.count({ state: 'parked' }).then(
      (count) => this.set(count),
      () => {},
    )
  },
})

export const POST = tixWebhooks({
  secret: () => process.env.TIX_SIGNING_SECRET,
  store,
  namespace: 'orders',
  parkAfter: { hours: 20 },
  on: { 'order.created': async (event) => console.info(`order ${event.data.order.id}`) },
  onDelivery: ({ error, ...record }) => {
    const { outcome, code = '', attempt, durationMs } = record
    deliveries.inc({ outcome, code }) // no kind: the sender chooses it
    seconds.observe({ outcome }, durationMs / 1000)
    if (outcome === 'handled' && attempt !== undefined) attempts.observe(attempt)
    log.info({ ...record, err: redactError(error) }, 'webhook')
  },
})
