// The service: the route of the webhooks, the readiness probe, and the shutdown.
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

// What the service sends of a show is not documented.
const show = unchecked<JsonObject & { event: { id: string } }>()

const hooks = tixWebhooks(
  instrument({
    account: async ({ params }: Request<{ account: string }>) =>
      (await db.select().from(accounts).where(eq(accounts.id, params.account)))[0],
    inbox,
    namespace: 'reseller',
    maxRunSeconds: 15,
    schemas: { 'event.published': show, 'event.rescheduled': show, 'event.cancelled': show },
    on: {
      'order.created': async (event, ctx) => {
        const { order, tickets } = event.data
        const account = ctx.account.id
        await ctx.tx.insert(orders).values({ account, id: order.id, totalCents: order.total_cents })
        await ctx.tx.execute(addIssueTickets({ account, tickets: tickets.map(({ id }) => id) }))
      },
      'event.*': async (event, ctx) => {
        const row = { account: ctx.account.id, id: event.data.event.id, state: event.type }
        // First: it waits for other transactions about this show. Of changes in one second, a cancellation is the last.
        const rank = event.type === 'event.cancelled' ? 1 : 0
        const change = { subject: `${row.account}/${row.id}`, at: event.created_at, rank }
        if (!(await inbox.isNewest(ctx.tx, change))) return
        const upsert = { target: [shows.account, shows.id], set: row }
        await ctx.tx.insert(shows).values(row).onConflictDoUpdate(upsert)
      },
    },
  }),
)

const server = express()
  .post('/hooks/:account', hooks)
  .get('/ready', async (_request, response) => {
    const health = await hooks.health()
    response.status(health.ok ? 200 : 503).json(health)
  })
  .listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', async () => {
  // The grace, maxRunSeconds and the rest take less than the 30 s that Kubernetes waits.
  await hooks.drain({ graceSeconds: Number(process.env.GRACE_SECONDS ?? 5) })
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
  await new Promise((resolve) => server.close(resolve))
  await worker.stop()
  await pool.end()
  // A collector that is down must not crash the process.
  await traces.shutdown().catch((error) => console.error(error.message))
})
