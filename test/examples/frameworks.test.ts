import { readdirSync, readFileSync } from 'node:fs'
import type { RequestListener, ServerResponse } from 'node:http'
import { transform } from 'esbuild'
import express, { type Request as ExpressRequest, type RequestHandler } from 'express'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, type SignedDelivery, sign } from '../support/deliveries.js'
import { changed, exampleEnvironment } from '../support/examples.js'
import { requestOf } from '../support/fetching.js'
import { listen, portOf, post } from '../support/http.js'
import { linksOf } from '../support/pages.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'
import { ROOT } from '../support/root.js'

const DOC = 'docs/frameworks.md'

const printed = exampleEnvironment()

test(`${DOC} links each file of examples/frameworks`, () => {
  const files = linksOf(DOC).map(({ file }) => file)
  const examples = readdirSync(`${ROOT}examples/frameworks`).map((name) => `examples/frameworks/${name}`)
  expect(examples.filter((file) => !files.includes(file))).toEqual([])
})

/** Starts an example, and returns its port. */
const HOSTS: Readonly<Record<string, () => Promise<number>>> = {
  async koa() {
    const { server } = await import('../../examples/frameworks/koa.js')
    onTestFinished(() => void server.close())
    return portOf(server)
  },
  async 'next-pages'() {
    const { default: handle, config } = await import('../../examples/frameworks/next-pages.js')
    expect(config).toEqual({ api: { bodyParser: false } })
    return served(handle)
  },
  /** The host parses, keeps the bytes, and passes no `next`. */
  async 'cloud-functions'() {
    const { hooks } = await import('../../examples/frameworks/cloud-functions.js')
    const verify = (request: object, _response: ServerResponse, rawBody: Buffer): void => {
      Object.assign(request, { rawBody })
    }
    const call: RequestHandler = (request: ExpressRequest, response) => hooks(request, response)
    return served(express().use(express.json({ verify })).use(call))
  },
}

async function served(handler: RequestListener): Promise<number> {
  const { port, close } = await listen(handler)
  onTestFinished(close)
  return port
}

test.each(Object.entries(HOSTS))('examples/frameworks/%s.ts handles an order once', async (name, start) => {
  const port = await start()
  const delivery = await sign(orderCreated({ id: `ord_${name}` }))
  assertAnswer(await deliver(port, delivery), 200, 'handled')
  assertAnswer(await deliver(port, delivery), 200, 'duplicate')
  assertAnswer(await deliver(port, changed(delivery)), 401, 'unauthenticated')
  assertAnswer(await post(port, { method: 'GET' }), 405, 'method_not_allowed')
  expect(printed[0]).toBe(`order ord_${name}: 1 tickets`)
  if (name === 'koa') expect((await deliver(port, delivery, { path: '/' })).status).toBe(404)
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

/** The form in which each gateway passes a delivery. */
const GATEWAYS: Readonly<Record<string, (delivery: SignedDelivery, method: string) => object>> = {
  'version 2, an HTTP API': ({ header, body }, method) => ({
    headers: { 'x-service-signature': header },
    requestContext: { http: { method, path: '/hooks' } },
    isBase64Encoded: false,
    body: Buffer.from(body).toString(),
  }),
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

describe('examples/frameworks/lambda.ts', () => {
  test.each(Object.entries(GATEWAYS))('answers an event of %s', async (name, eventOf) => {
    const { handler } = await import('../../examples/frameworks/lambda.js')
    const outcomeOf = async (delivery: SignedDelivery, method = 'POST') => {
      const { statusCode, body } = await handler(eventOf(delivery, method))
      return [statusCode, JSON.parse(body).outcome]
    }
    const delivery = await sign(orderCreated({ id: `ord_${name.length}` }))
    expect(await outcomeOf(delivery)).toEqual([200, 'handled'])
    expect(await outcomeOf(delivery)).toEqual([200, 'duplicate'])
    expect(await outcomeOf(changed(delivery))).toEqual([401, 'unauthenticated'])
    expect(await outcomeOf(delivery, 'GET')).toEqual([405, 'method_not_allowed'])
  })

  test.each([
    ['null headers and no body', { headers: null, multiValueHeaders: null, body: null, httpMethod: 'POST' }],
    ['nothing at all', {}],
  ])('answers 400 to an event with %s', async (_, event) => {
    const { handler } = await import('../../examples/frameworks/lambda.js')
    expect(await handler(event)).toMatchObject({ statusCode: 400, body: '{"outcome":"malformed"}' })
  })
})

test.each([
  ['bun', () => import('../../examples/frameworks/bun.js')],
  ['deno', () => import('../../examples/frameworks/deno.js')],
] as const)('examples/frameworks/%s.ts answers a Request, and leaves other paths alone', async (_, load) => {
  const { default: server } = await load()
  const delivery = await sign(orderCreated({ id: 'ord_4' }))
  for (const outcome of ['handled', 'duplicate']) {
    const response = await server.fetch(requestOf(delivery))
    expect([response.status, await response.json()]).toEqual([200, { outcome }])
  }
  expect((await server.fetch(requestOf(await sign(lifecycleEvent('event.published')), {}, '/'))).status).toBe(
    404,
  )
  expect(printed).toEqual(['order ord_4: 1 tickets'])
})

test('examples/frameworks/hono-workers.ts takes the secret from the binding', async () => {
  vi.stubEnv('TIX_SIGNING_SECRET', undefined)
  const { default: worker } = await import('../../examples/frameworks/hono-workers.js')
  const request = requestOf(await sign(orderCreated({ id: 'ord_5' })))
  const response = await worker.fetch(request, { TIX_SIGNING_SECRET: SECRET })
  expect(await response.json()).toEqual({ outcome: 'handled' })
})
