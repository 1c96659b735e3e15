import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { transform } from 'esbuild'
import express, { type Request as ExpressRequest, type RequestHandler } from 'express'
import { storeCases } from 'tix-webhooks/testing'
import ts from 'typescript'
import { expect, onTestFinished, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, type SignedDelivery, sign } from '../support/deliveries.js'
import { changed, exampleEnvironment, HANDLED, post } from '../support/examples.js'
import { answerOf, requestOf } from '../support/fetching.js'
import { type HttpAnswer, listen, portOf, post as request } from '../support/http.js'
import { linksOf } from '../support/pages.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'
import { ROOT } from '../support/root.js'
import { bundledWorker, workerd } from '../support/workerd.js'

const DOC = 'docs/frameworks.md'
const printed = exampleEnvironment()

test(`${DOC} links each file of examples/frameworks`, () => {
  const files = linksOf(DOC).map(({ file }) => file)
  const examples = readdirSync(`${ROOT}examples/frameworks`).map((name) => `examples/frameworks/${name}`)
  expect(examples.filter((file) => !files.includes(file))).toEqual([])
})

// Run in Nest itself, in both, by `npm run test:runtimes`.
test.each(['nest-express', 'nest-fastify'])(
  'examples/frameworks/%s.ts compiles to CommonJS, which `nest new` makes, and to ESM',
  async (name) => {
    const code = readFileSync(`${ROOT}examples/frameworks/${name}.ts`, 'utf8')
    const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } }
    for (const format of ['cjs', 'esm'] as const) {
      const compiled = await transform(code, { loader: 'ts', format, tsconfigRaw })
      expect(compiled.code).toMatch(
        format === 'cjs' ? /require\("tix-webhooks\// : /^import .* from "tix-webhooks\//m,
      )
    }
  },
)

/** Passes a delivery to an example, by POST to /hooks unless told otherwise. */
type Send = (delivery: SignedDelivery, options?: { method?: string; path?: string }) => Promise<HttpAnswer>

function toPort(port: number): Send {
  return (delivery, { method = 'POST', path = '/hooks' } = {}) =>
    method === 'POST' ? deliver(port, delivery, { path }) : request(port, { method, path })
}

async function toServer(server: Pick<Server, 'listening' | 'address' | 'close'>): Promise<Send> {
  onTestFinished(() => void server.close())
  return toPort(await portOf(server))
}

async function toListener(handler: RequestListener): Promise<Send> {
  const { port, close } = await listen(handler)
  onTestFinished(close)
  return toPort(port)
}

const toFetch =
  (handle: (request: Request) => Response | Promise<Response>): Send =>
  async (delivery, { path } = {}) =>
    answerOf(await handle(requestOf(delivery, {}, path)))

/** An app handles any event, parses JSON on its other route, and may say that it is ready. */
async function toApp(server: Server, isProbed: boolean): Promise<Send> {
  const port = await portOf(server)
  expect(await post(port, lifecycleEvent('event.published'))).toEqual(HANDLED)
  expect(await post(port, { parsed: true }, '/echo')).toEqual([200, { parsed: true }])
  if (isProbed) {
    const response = await fetch(`http://127.0.0.1:${port}/ready`)
    expect([response.status, await response.json()]).toEqual([200, { ok: true, problems: [] }])
  }
  expect(printed.splice(0)).toEqual(['event.published at 2026-05-17T14:02:11Z'])
  return toServer(server)
}

/** The form in which each gateway passes a delivery. */
const GATEWAYS: Readonly<Record<string, (delivery: SignedDelivery, method: string) => object>> = {
  'version 2, in Base64': ({ header, body }, method) => ({
    headers: { 'x-service-signature': header },
    requestContext: { http: { method, path: '/hooks' } },
    isBase64Encoded: true,
    body: Buffer.from(body).toString('base64'),
  }),
  'version 1, a REST API that keeps the case of a header': ({ header, body }, method) => ({
    httpMethod: method,
    path: '/hooks',
    headers: { 'X-Service-Signature': header },
    multiValueHeaders: { 'X-Service-Signature': [header] },
    requestContext: { httpMethod: method },
    isBase64Encoded: false,
    body: Buffer.from(body).toString(),
  }),
  'version 1, with no headers but lists of them': ({ header, body }, method) => ({
    httpMethod: method,
    headers: null,
    multiValueHeaders: { 'X-SERVICE-SIGNATURE': [header] },
    body: Buffer.from(body).toString(),
  }),
}

/** How each example is started; a path or a method that it must refuse. */
const HOSTS: readonly [
  name: string,
  start: () => Promise<Send>,
  refused?: { method?: string; path?: string },
][] = [
  ['express.ts', async () => toApp((await import('../../examples/express.js')).server, false)],
  ['fastify.ts', async () => toApp((await import('../../examples/fastify.js')).app.server, true)],
  ['hono.ts', async () => toApp((await import('../../examples/hono.js')).server as Server, true)],
  ['fetch.ts', async () => toFetch((await import('../../examples/fetch.js')).POST)],
  [
    'own-store.ts',
    async () => {
      const { ordersHooks, prove } = await import('../../examples/own-store.js')
      await prove()
      expect(printed.splice(0)).toEqual(storeCases.map(({ name }) => `the store ${name}`))
      return toServer(createServer(ordersHooks(process.env.TIX_SIGNING_SECRET)).listen(0))
    },
  ],
  [
    'worker.ts in workerd with D1, after its cron trigger has created the table',
    async () => {
      const { config } = ts.readConfigFile(`${ROOT}examples/wrangler.jsonc`, ts.sys.readFile)
      const runtime = workerd([
        {
          name: config.name,
          modules: true,
          script: await bundledWorker('examples/worker.ts'),
          compatibilityDate: config.compatibility_date,
          d1Databases: config.d1_databases.map(({ binding }: { binding: string }) => binding),
          bindings: { TIX_SIGNING_SECRET: SECRET },
        },
      ])
      onTestFinished(() => runtime.dispose())
      const send: Send = async ({ header, body }, { path = '/hooks' } = {}) => {
        const headers = { 'x-service-signature': header }
        const init = { method: 'POST', headers, body: Buffer.from(body).toString() }
        return answerOf((await runtime.dispatchFetch(`http://worker${path}`, init)) as unknown as Response)
      }
      assertAnswer(await send(await sign(orderCreated())), 503, 'unavailable')
      const worker = await runtime.getWorker()
      await (worker as unknown as { scheduled(): Promise<unknown> }).scheduled()
      return send
    },
    { path: '/elsewhere' },
  ],
  [
    'frameworks/koa.ts',
    async () => toServer((await import('../../examples/frameworks/koa.js')).server),
    { path: '/' },
  ],
  [
    'frameworks/next-pages.ts',
    async () => {
      const { default: handle, config } = await import('../../examples/frameworks/next-pages.js')
      expect(config).toEqual({ api: { bodyParser: false } })
      return toListener(handle)
    },
    { method: 'GET' },
  ],
  [
    'frameworks/cloud-functions.ts, whose host parses, keeps the bytes, and passes no next',
    async () => {
      const { hooks } = await import('../../examples/frameworks/cloud-functions.js')
      const verify = (request: object, _response: ServerResponse, rawBody: Buffer): void => {
        Object.assign(request, { rawBody })
      }
      const call: RequestHandler = (request: ExpressRequest, response) => hooks(request, response)
      return toListener(express().use(express.json({ verify })).use(call))
    },
    { method: 'GET' },
  ],
  [
    'frameworks/bun.ts',
    async () => toFetch((await import('../../examples/frameworks/bun.js')).default.fetch),
    { path: '/' },
  ],
  [
    'frameworks/deno.ts',
    async () => toFetch((await import('../../examples/frameworks/deno.js')).default.fetch),
    { path: '/' },
  ],
  [
    'frameworks/hono-workers.ts, with the secret of its binding',
    async () => {
      vi.stubEnv('TIX_SIGNING_SECRET', undefined)
      const { default: worker } = await import('../../examples/frameworks/hono-workers.js')
      return toFetch((request) => worker.fetch(request, { TIX_SIGNING_SECRET: SECRET }))
    },
  ],
  ...Object.entries(GATEWAYS).map(([name, eventOf]): (typeof HOSTS)[number] => [
    `frameworks/lambda.ts behind ${name}`,
    async () => {
      const { handler } = await import('../../examples/frameworks/lambda.js')
      return async (delivery, { method = 'POST' } = {}) => {
        const { statusCode, headers, body } = await handler(eventOf(delivery, method))
        return { status: statusCode, headers: headers as HttpAnswer['headers'], text: body }
      }
    },
    { method: 'GET' },
  ]),
]

test.each(HOSTS)('examples/%s handles an order once', async (name, start, refused) => {
  const send = await start()
  const id = `ord_${name.replaceAll(/\W/g, '').slice(0, 40)}`
  const delivery = await sign(orderCreated({ id }))
  assertAnswer(await send(delivery), 200, 'handled')
  assertAnswer(await send(delivery), 200, 'duplicate')
  assertAnswer(await send(changed(delivery)), 401, 'unauthenticated')
  if (!name.startsWith('worker')) expect(printed[0]).toContain(`order ${id}`)
  if (refused !== undefined) {
    expect((await send(delivery, refused)).status).toBe(refused.method === undefined ? 404 : 405)
  }
})

test('examples/frameworks/lambda.ts answers 400 to an event without headers and body', async () => {
  const { handler } = await import('../../examples/frameworks/lambda.js')
  const event = { headers: null, multiValueHeaders: null, body: null, httpMethod: 'POST' }
  expect(await handler(event)).toMatchObject({ statusCode: 400, body: '{"outcome":"malformed"}' })
})
