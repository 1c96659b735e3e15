import { createServer } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { type Handler, Hono } from 'hono'
import Koa from 'koa'
import { tixWebhooks as ofNoFramework, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as onExpress } from 'tix-webhooks/express'
import { tixWebhooks as onFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as onFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as onHono } from 'tix-webhooks/hono'
import { tixWebhooks as onNode } from 'tix-webhooks/node'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { EXPRESS_VERSIONS } from '../support/express.js'
import { FASTIFY_VERSIONS, listenTo } from '../support/fastify.js'
import { listen } from '../support/http.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'

const options: WebhookOptions = { secret: SECRET, on: { 'order.created': () => {} } }

type Adapter = 'express' | 'hono' | 'fetch' | 'node'
const ADAPTERS: Readonly<Record<Adapter, (options: WebhookOptions) => unknown>> = {
  express: onExpress,
  hono: onHono,
  fetch: onFetch,
  node: onNode,
}

const [express5, express4] = EXPRESS_VERSIONS
const [fastify5, fastify4] = FASTIFY_VERSIONS

/** How each host takes a handler; all of it untyped, as in JavaScript. */
const HOSTS: Readonly<Record<string, (handler: never) => Promise<number>>> = {
  'Express 5': (handler) => serve(express5.express().post('/hooks', handler)),
  'Express 4': (handler) => serve(express4.express().post('/hooks', handler)),
  'Fastify 5': (handler) => serveFastify(fastify5, handler),
  'Fastify 4': (handler) => serveFastify(fastify4, handler),
  Hono: (handler) => serve(createAdaptorServer(new Hono().post('/hooks', handler as Handler)) as never),
  'a fetch handler': (handler) => serve(createAdaptorServer({ fetch: handler }) as never),
  'a route with the Request in its context': (handler: (context: object) => Response) =>
    serve(createAdaptorServer({ fetch: (request: Request) => handler({ request }) }) as never),
  'node:http': (handler) => serve(createServer(handler)),
}

async function serve(handler: Parameters<typeof listen>[0]): Promise<number> {
  const { port, close } = await listen(handler)
  onTestFinished(close)
  return port
}

async function serveFastify({ fastify }: (typeof FASTIFY_VERSIONS)[number], handler: never): Promise<number> {
  const app = fastify()
  app.post('/hooks', handler)
  return listenTo(app)
}

const ADVICE: Readonly<Record<string, string>> = {
  'Express 5': 'in Express import tix-webhooks/express.',
  'Express 4': 'in Express import tix-webhooks/express.',
  'Fastify 5': 'in Fastify import tix-webhooks/fastify.',
  'Fastify 4': 'in Fastify import tix-webhooks/fastify.',
  Hono: 'in Hono import tix-webhooks/hono.',
  'a fetch handler': 'in a fetch handler import tix-webhooks/fetch.',
  'a route with the Request in its context':
    'pass the Request to tix-webhooks/fetch, as in ({ request }) => hooks(request).',
  'node:http': 'in a node:http server import tix-webhooks/node.',
}

/** The hosts of each adapter: Express's requests are those of Node. */
const RIGHT: Readonly<Record<Adapter, RegExp>> = {
  express: /^Express/,
  hono: /^Hono/,
  fetch: /^a fetch handler/,
  node: /^(node:http|Express)/,
}

const PAIRS = (Object.keys(ADAPTERS) as Adapter[]).flatMap((adapter) =>
  Object.keys(HOSTS).map((host) => [adapter, host] as const),
)

afterEach(() => vi.restoreAllMocks())

/** One delivery to a host with an adapter that may be another's, and what was logged of it. */
async function delivered(
  adapter: (options: WebhookOptions) => unknown,
  host: string,
  given: Partial<WebhookOptions> = {},
) {
  const onConsole = vi.spyOn(console, 'error').mockImplementation(() => {})
  const hooks = adapter({ ...options, ...given })
  const port = await HOSTS[host]?.(hooks as never)
  const answer = await deliver(port ?? 0, await sign(orderCreated()))
  return { answer, logged: onConsole.mock.calls }
}

describe('a handler of another adapter answers 500, and the log names the import', () => {
  test.each(PAIRS)('tix-webhooks/%s in %s, unless it is right there', async (adapter, host) => {
    const { answer, logged } = await delivered(ADAPTERS[adapter], host)
    if (RIGHT[adapter].test(host)) {
      assertAnswer(answer, 200, 'handled')
      expect(logged).toEqual([])
    } else {
      assertAnswer(answer, 500, 'misconfigured')
      expect(logged).toEqual([[`tix-webhooks: [/hooks] This is tix-webhooks/${adapter}: ${ADVICE[host]}`]])
    }
  })

  test('also if onError fails, beside its own error', async () => {
    const onError = async () => Promise.reject(new Error('no logger'))
    const { logged } = await delivered(ADAPTERS.hono, 'node:http', { onError })
    expect(logged).toEqual([
      ['tix-webhooks: [/hooks] onError failed: no logger'],
      [`tix-webhooks: [/hooks] This is tix-webhooks/hono: ${ADVICE['node:http']}`],
    ])
  })

  test('as an error of the framework, if it is one that is not known', async () => {
    const onFailed = vi.fn<(error: Error) => void>()
    const app = new Koa().use(onHono(options) as never).on('error', onFailed)
    const port = await serve(app.callback())
    expect((await deliver(port, await sign(orderCreated()))).status).toBe(500)
    expect(onFailed.mock.calls[0]?.[0].message).toMatch(/^The handler takes the arguments that Hono passes/)
  })
})

describe('route options of Fastify, which are no function,', () => {
  test('are refused by a node:http server at start, and name the import', () => {
    expect(() => createServer(onFastify(options) as never)).toThrow(ADVICE['node:http'] as string)
  })

  test.each(FASTIFY_VERSIONS)(
    'are refused as a handler by Fastify $version at start, with the lines that work',
    async ({ fastify }) => {
      const hooks = onFastify(options) as never
      for (const mount of [
        () => fastify().post('/hooks', { handler: hooks }),
        () => fastify().route({ method: 'POST', url: '/hooks', handler: hooks }),
      ]) {
        await expect(async () => mount()).rejects.toThrow(
          /pass them whole: app\.post\('\/hooks', tixWebhooks/,
        )
      }
    },
  )

  test.each(FASTIFY_VERSIONS)(
    'are never answered 200 by a route of Fastify $version that returns or sends them',
    async ({ fastify }) => {
      const app = fastify()
      const thrown: string[] = []
      app.setErrorHandler((error: Error, _request, reply) => {
        thrown.push(error.message)
        void reply.code(500).send('failed')
      })
      app.post('/returned', async () => onFastify(options))
      app.post('/sent', (_request, reply) => void reply.send(onFastify(options)))
      for (const url of ['/returned', '/sent']) {
        expect((await app.inject({ method: 'POST', url })).statusCode).toBe(500)
      }
      expect(thrown).toEqual(Array(2).fill(expect.stringMatching(/do not return or send them in a route/)))
      await app.close()
    },
  )
})

test('tixWebhooks of tix-webhooks itself names the subpaths', () => {
  expect(() => ofNoFramework({ secret: SECRET, on: {} } as never)).toThrow(
    /import it from tix-webhooks\/express, \/fastify, \/hono, \/fetch .* or \/node, and not from tix-webhooks/,
  )
})
