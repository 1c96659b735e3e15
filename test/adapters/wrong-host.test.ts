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

const IN_EXPRESS = 'in Express import tix-webhooks/express.'
const IN_FASTIFY = 'in Fastify import tix-webhooks/fastify.'
const IN_HONO = 'in Hono import tix-webhooks/hono.'
const IN_FETCH = 'in a fetch handler import tix-webhooks/fetch.'
const IN_NODE = 'in a node:http server import tix-webhooks/node.'
const WITH_REQUEST = 'pass the Request to tix-webhooks/fetch, as in ({ request }) => hooks(request).'

const WRONG: readonly (readonly [Adapter, host: string, advice: string])[] = [
  ['express', 'Fastify 5', IN_FASTIFY],
  ['express', 'Fastify 4', IN_FASTIFY],
  ['express', 'Hono', IN_HONO],
  ['express', 'a fetch handler', IN_FETCH],
  ['express', 'a route with the Request in its context', WITH_REQUEST],
  ['express', 'node:http', IN_NODE],
  ['hono', 'Express 5', IN_EXPRESS],
  ['hono', 'Express 4', IN_EXPRESS],
  ['hono', 'Fastify 5', IN_FASTIFY],
  ['hono', 'Fastify 4', IN_FASTIFY],
  ['hono', 'a fetch handler', IN_FETCH],
  ['hono', 'a route with the Request in its context', WITH_REQUEST],
  ['hono', 'node:http', IN_NODE],
  ['fetch', 'Express 5', IN_EXPRESS],
  ['fetch', 'Express 4', IN_EXPRESS],
  ['fetch', 'Fastify 5', IN_FASTIFY],
  ['fetch', 'Fastify 4', IN_FASTIFY],
  ['fetch', 'Hono', IN_HONO],
  ['fetch', 'a route with the Request in its context', WITH_REQUEST],
  ['fetch', 'node:http', IN_NODE],
  ['node', 'Fastify 5', IN_FASTIFY],
  ['node', 'Fastify 4', IN_FASTIFY],
  ['node', 'Hono', IN_HONO],
  ['node', 'a fetch handler', IN_FETCH],
  ['node', 'a route with the Request in its context', WITH_REQUEST],
]

const RIGHT: readonly (readonly [Adapter, host: string])[] = [
  ['express', 'Express 5'],
  ['express', 'Express 4'],
  ['hono', 'Hono'],
  ['fetch', 'a fetch handler'],
  ['node', 'node:http'],
  ['node', 'Express 5'],
  ['node', 'Express 4'],
]

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
  test.each(WRONG)('tix-webhooks/%s in %s', async (adapter, host, advice) => {
    const { answer, logged } = await delivered(ADAPTERS[adapter], host)
    assertAnswer(answer, 500, 'misconfigured')
    expect(logged).toEqual([[`tix-webhooks: This is tix-webhooks/${adapter}: ${advice}`]])
  })

  test('through onError, if there is one', async () => {
    const errors: unknown[] = []
    const { logged } = await delivered(onHono, 'Express 5', { onError: (error) => errors.push(error) })
    expect(errors).toMatchObject([{ code: 'misconfigured', message: expect.stringContaining(IN_EXPRESS) }])
    expect(logged).toEqual([])
  })

  test('as an error of the framework, if it is one that is not known', async () => {
    const onFailed = vi.fn<(error: Error) => void>()
    const app = new Koa().use(onHono(options) as never).on('error', onFailed)
    const port = await serve(app.callback())
    expect((await deliver(port, await sign(orderCreated()))).status).toBe(500)
    expect(onFailed.mock.calls[0]?.[0].message).toMatch(/^The handler takes the arguments that Hono passes/)
  })
})

test.each(RIGHT)('a handler of tix-webhooks/%s is right in %s', async (adapter, host) => {
  const { answer, logged } = await delivered(ADAPTERS[adapter], host)
  assertAnswer(answer, 200, 'handled')
  expect(logged).toEqual([])
})

describe('route options of Fastify, which are no function,', () => {
  test.each(EXPRESS_VERSIONS)('are refused by Express $version at start', ({ express }) => {
    expect(() => express().post('/hooks', onFastify(options) as never)).toThrow(/function/)
  })

  test('are refused by a node:http server at start, and name the import', () => {
    expect(() => createServer(onFastify(options) as never)).toThrow(new RegExp(IN_NODE))
  })

  test('are answered 500 by Hono, which logs that they are none', async () => {
    const { answer, logged } = await delivered(onFastify, 'Hono')
    expect(answer.status).toBe(500)
    expect(logged).toEqual([
      [expect.objectContaining({ message: expect.stringMatching(/is not a function/) })],
    ])
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

  test('can be spread and listed without being touched', () => {
    expect(Object.keys({ ...onFastify(options) })).toEqual([
      'preParsing',
      'handler',
      'health',
      'drain',
      'replay',
    ])
  })
})

test('tixWebhooks of tix-webhooks itself names the subpaths', () => {
  expect(() => ofNoFramework({ secret: SECRET, on: {} } as never)).toThrow(
    /import it from tix-webhooks\/express, \/fastify, \/hono, \/fetch .* or \/node, and not from tix-webhooks/,
  )
})
