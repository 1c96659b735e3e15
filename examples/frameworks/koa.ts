// Koa 2 or 3. Start it with the endpoint's secret:
//   TIX_SIGNING_SECRET=whsec_… npx tsx koa.ts
import Koa, { type Context } from 'koa'
import { answerTo, createReceiver } from 'tix-webhooks'
import { streamBody } from 'tix-webhooks/node'

const { receive, headerName, drain } = createReceiver<Context>({
  secret: process.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})

const app = new Koa()

// Before any body parser: the signature covers the bytes, not the parsed body.
app.use(async (ctx, next) => {
  if (ctx.path !== '/hooks') return next()
  const outcome = await receive({
    header: ctx.headers[headerName],
    body: streamBody(ctx.req),
    request: ctx,
    method: ctx.method,
    path: () => ctx.path,
    contentEncoding: ctx.get('content-encoding'),
  })
  const { status, headers, body } = answerTo(outcome, { httpVersionMajor: ctx.req.httpVersionMajor })
  ctx.status = status
  ctx.set({ ...headers })
  ctx.body = body
})

export const server = app.listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', async () => {
  await drain()
  server.close()
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
})
