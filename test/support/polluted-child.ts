import express from 'express'
import fastify from 'fastify'
import { listen, post } from './http.js'

/*
 * A process in which another library has put properties on Object.prototype before it loads ours. It prints the outcome of one
 * delivery for each adapter that works there: Node's own `Request` breaks by itself.
 */

// Created first: they too use descriptors that inherit.
const expressApp = express()
const fastifyApp = fastify()

const NAMES = [
  'get',
  'set',
  'key',
  'now',
  'store',
  'inbox',
  'namespace',
  'schemas',
  'signature',
  'timestamp',
  'table',
  'exact',
]
for (const name of NAMES) {
  // A null prototype, because the first property would otherwise make the descriptor invalid.
  const descriptor = {
    __proto__: null,
    value: () => 'polluted',
    enumerable: false,
    configurable: true,
    writable: true,
  }
  Object.defineProperty(Object.prototype, name, descriptor as PropertyDescriptor)
}

const secret = 'whsec_test'
const runs: unknown[] = []
const options = {
  secret,
  on: { 'order.created': (_: unknown, ctx: { signal: AbortSignal }) => runs.push(ctx.signal.aborted) },
  onError: (error: unknown) => console.error(error),
}

const { signedDelivery, callHandler, sampleEvent } = await import('tix-webhooks/testing')
const outcomes: Record<string, unknown> = {}

async function sent(name: string, send: (delivery: Awaited<ReturnType<typeof signed>>) => Promise<string>) {
  outcomes[name] = JSON.parse(await send(await signed())).outcome
}
function signed() {
  return signedDelivery('order.created', { secret })
}
async function overHttp(
  handler: Parameters<typeof listen>[0],
  { headers, body }: Awaited<ReturnType<typeof signed>>,
) {
  const { port, close } = await listen(handler)
  const { text } = await post(port, { headers, body })
  await close()
  return text
}

await sent('core', async ({ headers, body }) => {
  const { answerTo, createReceiver, memoryStore } = await import('tix-webhooks')
  const store = memoryStore({ maxKeys: 10 })
  const { receive, headerName } = createReceiver({ ...options, store, namespace: 'orders' })
  const bytes = new TextEncoder().encode(body)
  return answerTo(await receive({ header: headers[headerName], body: bytes, request: null })).body
})
await sent('node', async (delivery) => {
  const { tixWebhooks } = await import('tix-webhooks/node')
  return overHttp(tixWebhooks(options), delivery)
})
await sent('express', async (delivery) => {
  const { tixWebhooks } = await import('tix-webhooks/express')
  return overHttp(expressApp.post('/hooks', tixWebhooks(options)), delivery)
})
await sent('fastify', async ({ toInject }) => {
  const { tixWebhooks } = await import('tix-webhooks/fastify')
  fastifyApp.post('/hooks', tixWebhooks(options))
  return (await fastifyApp.inject(toInject('/hooks'))).payload
})
await callHandler(
  { 'order.created': () => runs.push('called') },
  'order.created',
  sampleEvent('order.created'),
  { attempt: 2 },
)

console.info(JSON.stringify({ outcomes, runs }))
process.exit()
