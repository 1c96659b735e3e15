// The main job on real sockets: Express, Fastify and Hono each receive the same signed deliveries, good, repeated and bad.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as expressWebhooks } from 'tix-webhooks/express'
import { tixWebhooks as fastifyWebhooks } from 'tix-webhooks/fastify'
import { tixWebhooks as honoWebhooks } from 'tix-webhooks/hono'
import { signedDelivery } from 'tix-webhooks/testing'

const secret = 'whsec_demo'
const HOST = '127.0.0.1'

/** What a receiver did since it was last asked: which handlers ran, and the codes of what it refused. */
interface Seen {
  ran: string[]
  codes: string[]
}

/** The options of a receiver that tells what it does. Its `event.published` waits to be told to finish; its `event.cancelled` fails twice. */
function demoOptions(
  seen: Seen,
  published: { started: () => void; mayFinish: Promise<void> },
): WebhookOptions {
  return {
    secret,
    on: {
      'order.created': (event, ctx) => seen.ran.push(`order ${event.data.order.id}, attempt ${ctx.attempt}`),
      'event.rescheduled': (event, ctx) => seen.ran.push(`${event.type}, attempt ${ctx.attempt}`),
      'event.published': async (event, ctx) => {
        seen.ran.push(`${event.type}, attempt ${ctx.attempt}`)
        published.started()
        await published.mayFinish
      },
      'event.cancelled': (event, ctx) => {
        seen.ran.push(`${event.type}, attempt ${ctx.attempt}`)
        if (ctx.attempt !== 3) throw new Error('the mail server is down')
      },
    },
    onDelivery: ({ code }) => {
      if (code !== undefined) seen.codes.push(code)
    },
    // The table says it already.
    onError: () => {},
  }
}

/** Sends a delivery, and says in a few words what was answered. */
async function deliver(url: string, delivery: RequestInit): Promise<string> {
  const response = await fetch(url, delivery)
  const { outcome } = (await response.json()) as { outcome: string }
  const retryAfter = response.headers.get('retry-after')
  return `${response.status} ${outcome}${retryAfter === null ? '' : `, come again in ${retryAfter} s`}`
}

/** Tells the whole story to one receiver and prints a row for each delivery. */
async function tell(framework: string, start: (options: WebhookOptions) => Promise<Server>): Promise<void> {
  const seen: Seen = { ran: [], codes: [] }
  const started = deferred()
  const mayFinish = deferred()
  const server = await start(demoOptions(seen, { started: started.resolve, mayFinish: mayFinish.promise }))
  const { port } = server.address() as AddressInfo
  const url = `http://${HOST}:${port}/hooks`

  console.info(`\n${framework}, listening on ${HOST}:${port}`)
  printRow('sent', 'answered', 'code', 'ran')
  const row = (sent: string, answered: string): void => {
    printRow(sent, answered, seen.codes.join(', '), seen.ran.join('; '))
    seen.ran = []
    seen.codes = []
  }

  const send = (delivery: RequestInit) => deliver(url, delivery)

  const order = await signedDelivery('order.created', { secret, data: { order: { total_cents: 5400 } } })
  row('order.created', await send(order))
  row('event.rescheduled', await send(await signedDelivery('event.rescheduled', { secret })))
  row('the same order again', await send(await order.signAgain()))

  const published = await signedDelivery('event.published', { secret })
  const first = send(published)
  await started.promise
  const second = await send(published)
  mayFinish.resolve()
  row('two of one event at once', `${await first} | ${second}`)

  const tampered = order.body.replace('"total_cents":5400', '"total_cents":5401')
  row('a tampered byte', await send({ ...order, body: tampered }))
  row('a stale timestamp', await send(await order.signAgain({ now: () => Date.now() - 3_600_000 })))
  row('a wrong secret', await send(await signedDelivery('order.created', { secret: 'whsec_other' })))
  row('an unknown kind', await send(await signedDelivery('venue.opened', { secret, data: {} })))

  const cancelled = await signedDelivery('event.cancelled', { secret })
  row('a handler that fails', await send(cancelled))
  row('… retried, fails again', await send(await cancelled.signAgain()))
  row('… retried, succeeds', await send(await cancelled.signAgain()))

  server.closeAllConnections()
  server.close()
}

function printRow(...columns: string[]): void {
  const widths = [25, 49, 19, 0]
  console.info(
    `  ${columns.map((text, index) => (text || '–').padEnd(widths[index] ?? 0)).join(' ')}`.trimEnd(),
  )
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve))
  return server
}

await tell('Express', (options) => {
  const app = express()
  app.post('/hooks', expressWebhooks(options))
  return listening(createServer(app))
})

await tell('Fastify', async (options) => {
  const app = fastify()
  app.post('/hooks', fastifyWebhooks(options))
  await app.listen({ host: HOST, port: 0 })
  return app.server
})

await tell('Hono', (options) => {
  const app = new Hono()
  app.post('/hooks', honoWebhooks(options))
  return listening(createServer(getRequestListener(app.fetch)))
})
