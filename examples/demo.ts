// A full demo on real sockets: the service's sandbox sells tickets, and an Express, a Fastify and a Hono app receive its
// webhooks.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { Operations, WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as expressWebhooks } from 'tix-webhooks/express'
import { tixWebhooks as fastifyWebhooks } from 'tix-webhooks/fastify'
import { tixWebhooks as honoWebhooks } from 'tix-webhooks/hono'
import { type Attempt, createSandbox } from 'tix-webhooks-sandbox'

const secret = 'whsec_demo'
const HOST = '127.0.0.1'

let mailServerIsDown = false

/** The handlers of each of the three apps. They note what ran, for the table. */
function optionsFor(ran: string[]): WebhookOptions {
  return {
    secret,
    on: {
      'order.created': ({ data }, { attempt }) => {
        if (mailServerIsDown) {
          ran.push('the handler ran and threw')
          throw new Error('the mail server is down')
        }
        ran.push(`${data.tickets.length} tickets mailed, attempt ${attempt}`)
      },
      'event.*': ({ type }) => void ran.push(type),
    },
    // The table already shows it.
    onError: () => {},
  }
}

/** An app that listens, and the calls of its receiver, of which the demo needs `replay`. */
interface Started {
  readonly server: Server
  readonly hooks: Operations<never>
}

const STARTS: Readonly<Record<string, (options: WebhookOptions) => Promise<Started>>> = {
  async Express(options) {
    const hooks = expressWebhooks(options)
    return { hooks, server: await listening(createServer(express().post('/hooks', hooks))) }
  },
  async Fastify(options) {
    const hooks = fastifyWebhooks(options)
    const app = fastify()
    app.post('/hooks', hooks)
    await app.listen({ host: HOST, port: 0 })
    return { hooks, server: app.server }
  },
  async Hono(options) {
    const hooks = honoWebhooks({ ...options, parkAfter: { attempts: 5 } })
    const app = new Hono().post('/hooks', hooks)
    return { hooks, server: await listening(createServer(getRequestListener(app.fetch))) }
  },
}

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve))
  return server
}

const apps = await Promise.all(
  Object.entries(STARTS).map(async ([framework, start]) => {
    const ran: string[] = []
    const { server, hooks } = await start(optionsFor(ran))
    return {
      framework,
      ran,
      server,
      hooks,
      url: `http://${HOST}:${(server.address() as AddressInfo).port}/hooks`,
    }
  }),
)

// Its time stands still until it is advanced, so that four days pass in a moment.
const sandbox = createSandbox({ secret, endpoints: apps.map(({ url }) => ({ url })), seed: 1 })
console.info(`The ticketing service listens on ${await sandbox.listen()}, and sends to`)
for (const { framework, url } of apps) console.info(`  ${framework.padEnd(8)} ${url}`)

/** Calls the service's API over HTTP, as an app would. */
async function call<Answer = { id: string; status: string }>(
  path: string,
  body: object = {},
): Promise<Answer> {
  const response = await fetch(`${sandbox.url}/v2${path}`, {
    method: 'POST',
    headers: { authorization: 'bearer sk_test_demo', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.json() as Promise<Answer>
}

/** Prints the deliveries since the last call: a line for each app that received one. */
async function tell(what: string): Promise<void> {
  await sandbox.settled()
  console.info(`\n${what}`)
  for (const app of apps) {
    const attempts = newAttempts(app.url)
    if (attempts.length > 0) tellOf(app, answersOf(attempts))
  }
}

/** Prints how it went for one app, and what its handlers did. */
function tellOf({ framework, ran }: Pick<(typeof apps)[number], 'framework' | 'ran'>, how: string): void {
  console.info(`  ${framework.padEnd(8)} ${how.padEnd(28)} ${counted(ran).join('; ') || 'no handler ran'}`)
  ran.length = 0
}

const told = new Set<string>()

function newAttempts(url: string): Attempt[] {
  const all = sandbox.deliveries.list().flatMap(({ attempts }) => attempts)
  const fresh = all.filter((attempt) => attempt.url === url && !told.has(attempt.id))
  for (const { id } of fresh) told.add(id)
  return fresh
}

function answersOf(attempts: readonly Attempt[]): string {
  const answers = attempts.map(({ response }) =>
    response ? `${response.status} ${JSON.parse(response.body).outcome}` : 'no answer',
  )
  return counted(answers).join(', ')
}

/** Groups equal texts with their number: `10 × 500 failed`. */
function counted(texts: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts].map(([text, times]) => (times > 1 ? `${times} × ${text}` : text))
}

const event = await call<{ id: string; status: string; tickets: [{ id: string }] }>('/events', {
  title: 'Harbour Jazz',
  venue: { name: 'The Old Customs House' },
  doors_at: '2030-05-17T19:30:00+02:00',
  tickets: [{ name: 'general admission', price_cents: 2700, quantity: 200 }],
})
const sell = (quantity: number) =>
  call('/sandbox/orders', { event_id: event.id, ticket_tier_id: event.tickets[0].id, quantity })
/** The deliveries of the latest message: one for each app. */
const latest = () => {
  const [newest, ...others] = sandbox.deliveries.list()
  return newest ? [newest, ...others.filter(({ message }) => message.id === newest.message.id)] : []
}

await tell(`An event is created. It is a ${event.status}, so no webhook is sent.`)

const { status } = await call(`/events/${event.id}/publish`)
await tell(`It is published, and now ${status}.`)

await sell(2)
await tell('Two tickets are sold.')

for (const { id } of latest()) await sandbox.deliveries.resend(id)
await tell('The same order is sent again, with a new signature.')

mailServerIsDown = true
await sell(3)
await tell('Three tickets are sold while the mail server is down.')

const startMs = performance.now()
await sandbox.clock.advance('96h')
const seconds = ((performance.now() - startMs) / 1000).toFixed(2)
await tell(
  `It stays down for four days, which pass in ${seconds} s. The service gives up after 72 hours; the Hono app stops it at the fifth attempt.`,
)

mailServerIsDown = false
console.info('\nThe mail server is back. Each app has kept the order, and replays it: hooks.replay({}).')
for (const app of apps) {
  const replayed = await app.hooks.replay({})
  tellOf(app, `replay: ${replayed.map(({ outcome }) => outcome).join(', ')}`)
}

console.info('\nThe service knows nothing of a replay. It says of the order:')
for (const { framework, url } of apps) {
  const delivery = latest().find(({ attempts }) => attempts[0]?.url === url)
  console.info(`  ${framework.padEnd(8)} ${delivery?.status} after ${delivery?.attempts.length} attempts`)
}

await call(`/events/${event.id}/cancel`)
await tell('The event is cancelled.')

await sandbox.trigger('order.created', { scenario: 'wrong-secret' })
await tell('Someone sends two orders without knowing the secret.')

await sandbox.close()
for (const { server } of apps) {
  server.closeAllConnections()
  server.close()
}

console.info(`
Next, the same with an app of your own (the README has one for each framework):
  npm install tix-webhooks express
  npm install -D tix-webhooks-sandbox
  npx tix-webhooks secret >> .env                             a secret for your app and the sandbox
  node --env-file=.env app.mjs                                your app
  npx tix-webhooks sandbox --to http://localhost:3000/hooks   in a second terminal
  npx tix-webhooks trigger order.created                      in a third one`)
