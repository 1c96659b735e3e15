import { createServer, type RequestListener, type Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import type { WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import type { AdapterHarness, TestDelivery } from 'tix-webhooks/testing'
import { harness as koa } from '../../examples/own-adapter.js'
import { EXPRESS_VERSIONS } from './express.js'
import { FASTIFY_VERSIONS } from './fastify.js'
import { answerOf } from './fetching.js'
import { listen, post } from './http.js'

/** Starts a server with the adapter's endpoint at `/hooks`. */
type Start = (options: WebhookOptions) => Promise<Server | RequestListener>

/** Each of our adapters in each of its frameworks, as a server that does not listen yet. */
export const SERVERS: readonly (readonly [name: string, start: Start])[] = [
  ...EXPRESS_VERSIONS.map(
    ({ version, express }) =>
      [
        `Express ${version}`,
        async (options: WebhookOptions) => express().post('/hooks', forExpress(options)),
      ] as const,
  ),
  ...FASTIFY_VERSIONS.map(
    ({ version, fastify }) =>
      [
        `Fastify ${version}`,
        async (options: WebhookOptions) => (await fastifyApp(fastify, options)).server,
      ] as const,
  ),
  ['Hono', async (options) => createAdaptorServer(honoApp(options)) as Server],
  [
    'a fetch handler',
    async (options) => {
      const handle = forFetch(options)
      return createAdaptorServer({ fetch: (request) => handle(request) }) as Server
    },
  ],
  ['node:http', async (options) => createServer(forNode(options))],
]

/** Each of our adapters on real sockets, and through the framework's own injection if there is one. */
export const ADAPTERS: readonly (readonly [name: string, harness: AdapterHarness])[] = [
  ...SERVERS.map(([name, start]) => [name, onSocket(start)] as const),
  ...FASTIFY_VERSIONS.map(
    ({ version, fastify }) =>
      [`Fastify ${version} by inject()`, byInject((options) => fastifyApp(fastify, options))] as const,
  ),
  ['Hono by app.request()', byRequest((options) => honoApp(options).request)],
  ['a fetch handler that is called', byRequest(forFetch)],
  ['Koa, as in examples/own-adapter.ts', koa],
]

/** Over a real socket, with a client that adds nothing to the delivery. */
function onSocket(start: Start): AdapterHarness {
  return {
    async mount(options) {
      const { port, close } = await listen(await start(options))
      return { send: ({ method, headers, body }) => post(port, { method, headers, body }), close }
    },
  }
}

/** A harness that calls a handler with a `Request`. */
export function byRequest(
  start: (options: WebhookOptions) => (request: Request) => Response | Promise<Response>,
): AdapterHarness {
  return {
    async mount(options) {
      const handle = start(options)
      return {
        send: async ({ toRequest }) => answerOf(await handle(toRequest('/hooks'))),
        close: async () => {},
      }
    },
  }
}

type Injected = ReturnType<TestDelivery<string | Uint8Array>['toInject']>

interface InjectableApp {
  inject(request: Injected): Promise<{ statusCode: number; headers: object; payload: string }>
  close(): Promise<unknown>
}

function byInject(start: (options: WebhookOptions) => Promise<InjectableApp>): AdapterHarness {
  return {
    async mount(options) {
      const app = await start(options)
      return {
        async send({ toInject }) {
          const { statusCode, headers, payload } = await app.inject(toInject('/hooks'))
          return { status: statusCode, headers: { ...headers }, text: payload }
        },
        close: () => app.close(),
      }
    },
  }
}

async function fastifyApp(fastify: (typeof FASTIFY_VERSIONS)[number]['fastify'], options: WebhookOptions) {
  const app = fastify()
  app.post('/hooks', forFastify(options))
  await app.ready()
  return app
}

function honoApp(options: WebhookOptions): Hono {
  return new Hono().post('/hooks', forHono(options))
}
