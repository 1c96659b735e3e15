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

const NAMES = 'get set key now store inbox namespace schemas signature timestamp table exact'
for (const name of NAMES.split(' ')) {
  // A null prototype, because the first property would otherwise make the descriptor invalid.
  const descriptor = { __proto__: null, value: () => 'polluted', configurable: true, writable: true }
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
const { createReceiver, memoryStore } = await import('tix-webhooks')
const node = await import('tix-webhooks/node')
const onExpress = await import('tix-webhooks/express')
const onFastify = await import('tix-webhooks/fastify')
const outcomes: Record<string, unknown> = {}

const { headers, body } = await signedDelivery('order.created', { secret })
const store = memoryStore({ maxKeys: 10 })
const { receive, headerName } = createReceiver({ ...options, store, namespace: 'orders' })
const bytes = new TextEncoder().encode(body)
outcomes.core = (await receive({ header: headers[headerName], body: bytes, request: null })).outcome

fastifyApp.post('/hooks', onFastify.tixWebhooks(options))
await fastifyApp.ready()
for (const [name, handler] of [
  ['node', node.tixWebhooks(options)],
  ['express', expressApp.post('/hooks', onExpress.tixWebhooks(options))],
  ['fastify', fastifyApp.server],
] as const) {
  const { port, close } = await listen(handler)
  outcomes[name] = JSON.parse((await post(port, { headers, body })).text).outcome
  await close()
}
await callHandler(
  { 'order.created': () => runs.push('called') },
  'order.created',
  sampleEvent('order.created'),
  { attempt: 2 },
)

console.info(JSON.stringify({ outcomes, runs }))
process.exit()
