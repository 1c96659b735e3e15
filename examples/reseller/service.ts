// The service: the route of the webhooks, the probes, and the shutdown.
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { eq } from 'drizzle-orm'
import express, { type Request } from 'express'
import { type JsonObject, unchecked } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'
import { instrument } from 'tix-webhooks/opentelemetry'
import { accounts, db, inbox, orders, pool, shows } from './database.js'
import { addIssueTickets, worker } from './jobs.js'

const traces = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] })
traces.register()

// The data of these is not documented, so look at what you get.
const show = unchecked<JsonObject & { event: { id: string } }>()

const hooks = tixWebhooks(
  instrument({
    account: async ({ params: { account: id } }: Request<{ account: string }>) =>
      // Postgres refuses a NUL, and a stranger's request would look like an outage.
      /^[\w-]{1,64}$/.test(id) ? (await db.select().from(accounts).where(eq(accounts.id, id)))[0] : undefined,
    inbox,
    namespace: 'reseller',
    maxRunSeconds: 25,
    schemas: { 'event.published': show, 'event.rescheduled': show, 'event.cancelled': show },
    on: {
      'order.created': async (event, { account, tx }) => {
        const { order, tickets } = event.data
        await tx.insert(orders).values({ account: account.id, id: order.id, totalCents: order.total_cents })
        await tx.execute(addIssueTickets({ account: account.id, tickets: tickets.map(({ id }) => id) }))
      },
      'event.*': async (event, { account, tx }) => {
        const row = { account: account.id, id: event.data.event.id, state: event.type }
        // First: it waits for other transactions about this show. Of changes in one second, a cancellation is the last.
        const rank = event.type === 'event.cancelled' ? 1 : 0
        const change = { subject: `${row.account}/${row.id}`, at: event.created_at, rank }
        if (!(await inbox.recordIfNewest(tx, change))) return
        const upsert = { target: [shows.account, shows.id], set: row }
        await tx.insert(shows).values(row).onConflictDoUpdate(upsert)
      },
    },
  }),
)

const server = express()
  .post('/hooks/:account', hooks)
  .get('/live', (_request, response) => void response.sendStatus(200))
  .get('/ready', async (_request, response) => {
    const health = await hooks.health()
    response.status(health.ok ? 200 : 503).json(health)
  })
  .listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', async () => {
  process.on('SIGTERM', () => {}) // a second one would end the process at once
  setTimeout(() => process.exit(1), 50_000).unref() // if something hangs
  server.maxRequestsPerSocket = 1 // each answer closes its connection: the next request goes to another process
  await hooks.drain({ graceSeconds: Number(process.env.GRACE_SECONDS ?? 10) }) // /ready is 503 from here on
  setTimeout(() => server.closeAllConnections(), 3_000).unref() // connections that clients keep open
  await new Promise((resolve) => server.close(resolve))
  await worker.stop()
  await pool.end()
  await traces.shutdown().catch(console.error) // a collector that is down must not crash the process
})
