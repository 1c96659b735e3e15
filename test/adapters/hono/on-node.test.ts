import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { env } from 'hono/adapter'
import { tixWebhooks } from 'tix-webhooks/hono'
import { expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { answerOf, requestOf } from '../../support/fetching.js'
import { dial, listen, post, requestHead } from '../../support/http.js'
import { deferred } from '../../support/promises.js'
import { assertAnswer, deliver } from '../../support/raw-bytes-harness.js'

const MAX_BYTES = 10_000

/** An app on a server of Node's, with a middleware before the webhook. */
async function serve(
  before: MiddlewareHandler,
  serverOptions: object = {},
  onError = (_error: unknown): void => {},
) {
  const webhooks = tixWebhooks({
    secret: SECRET,
    maxBodyBytes: MAX_BYTES,
    on: { 'order.created': () => {} },
    onError,
  })
  const app = new Hono().use(before).post('/hooks', webhooks)
  const server = await listen(
    createAdaptorServer({ ...app, fetch: app.fetch, createServer, serverOptions }) as Server,
  )
  onTestFinished(() => server.close())
  return server
}

test.each<[string, unknown]>([
  ['a variable', 'on'],
  ['a binding', { send: () => {} }],
  ['nothing', null],
])(
  '%s that is called as what the server of Node puts into c.env is not taken for it',
  async (_, incoming) => {
    const app = new Hono().post('/hooks', tixWebhooks({ secret: SECRET, on: { 'order.created': () => {} } }))
    const answer = await app.request(requestOf(await sign(orderCreated())), undefined, { incoming })
    expect(await answerOf(answer)).toMatchObject({ status: 200 })
  },
)

test('a body that a middleware is reading through c.req.raw is gone, though nothing of it has come yet', async () => {
  const { header, body } = await sign(orderCreated())
  const reading: Promise<unknown>[] = []
  const server = await serve((c, next) => {
    reading.push(c.req.raw.arrayBuffer())
    return next()
  })
  const answer = await post(server.port, { headers: { 'x-service-signature': header }, body })
  expect([answer.status, answer.text]).toEqual([500, '{"outcome":"misconfigured"}'])
  await Promise.all(reading)
})

test.each<[string, (incoming: IncomingMessage) => Promise<unknown>, boolean]>([
  ['whole', (incoming) => incoming.toArray(), false],
  ['whole, in chunks', (incoming) => incoming.toArray(), true],
  ['in part', (incoming) => once(incoming, 'data'), false],
])(
  'a body that a middleware read through c.env.incoming, %s, is misconfigured, and the message says so',
  async (_, consume, isChunked) => {
    const errors: unknown[] = []
    const before: MiddlewareHandler = async (c, next) => {
      await consume(c.env.incoming)
      await next()
    }
    const server = await serve(before, {}, (error) => errors.push(error))
    const { header, body } = await sign(orderCreated())
    const answer = await post(server.port, {
      headers: { 'x-service-signature': header },
      body: isChunked ? [Buffer.from(body)] : body,
    })
    expect([answer.status, answer.text]).toEqual([500, '{"outcome":"misconfigured"}'])
    expect(errors).toEqual([
      expect.objectContaining({
        code: 'misconfigured',
        message: expect.stringMatching(/read it as a form, or through c\.req\.raw or c\.env\.incoming/),
      }),
    ])
  },
)

test('a delivery whose response a middleware has begun is reported', async () => {
  const errors: unknown[] = []
  const before: MiddlewareHandler = async (c, next) => {
    c.env.outgoing.flushHeaders()
    await next()
    c.env.outgoing.end()
  }
  const server = await serve(before, {}, (error) => errors.push(error))
  const { header, body } = await sign(orderCreated())
  await post(server.port, { headers: { 'x-service-signature': header }, body })
  expect(errors.map(String)).toContainEqual(expect.stringContaining('had already been answered'))
})

test('a body of which a middleware has read a clone is handled', async () => {
  const server = await serve(async (c, next) => {
    await c.req.raw.clone().text()
    await next()
  })
  const { header, body } = await sign(orderCreated())
  const answer = await post(server.port, { headers: { 'x-service-signature': header }, body })
  expect([answer.status, answer.text]).toEqual([200, '{"outcome":"handled"}'])
})

test('chunks are read no further than to the limit, whatever the length that a lenient parser lets through with them', async () => {
  let bytesRead = 0
  const counting: MiddlewareHandler<{ Bindings: { incoming: { socket: { bytesRead: number } } } }> = async (
    c,
    next,
  ) => {
    const { socket } = c.env.incoming
    await next()
    bytesRead = socket.bytesRead
  }
  const server = await serve(counting as MiddlewareHandler, { insecureHTTPParser: true })
  const client = await dial(server.port)
  const { header } = await sign(orderCreated())
  await client.write(
    `POST /hooks HTTP/1.1\r\nhost: x\r\nx-service-signature: ${header}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
  )
  const answering = client.answer()
  const chunk = `${(5_000).toString(16)}\r\n${'x'.repeat(5_000)}\r\n`
  for (let i = 0; i < 3; i++) await client.write(chunk)
  // The last chunk never comes: who waits for it gives no answer before the deadline.
  const { status } = await answering
  expect(status).toBe(413)
  expect(bytesRead).toBeLessThan(100_000)
  client.destroy()
})

test('the secret comes from env(c) of hono/adapter; c.env does not have it, and the report says so', async () => {
  vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
  onTestFinished(() => void vi.unstubAllEnvs())
  type AppEnv = { Bindings: { TIX_SIGNING_SECRET: string } }
  const reports: unknown[] = []
  const on = { 'order.created': () => {} }
  const onError = (error: unknown): void => void reports.push((error as Error).message)
  const app = new Hono<AppEnv>()
    .post(
      '/adapter',
      tixWebhooks({ secret: (c) => env<{ TIX_SIGNING_SECRET: string }>(c).TIX_SIGNING_SECRET, on, onError }),
    )
    .post('/bindings', tixWebhooks({ secret: (c: Context<AppEnv>) => c.env.TIX_SIGNING_SECRET, on, onError }))
  const { port, close } = await listen(createAdaptorServer({ fetch: app.fetch, createServer }) as Server)
  onTestFinished(close)
  const delivery = await sign(orderCreated())
  assertAnswer(await deliver(port, delivery, { path: '/adapter' }), 200, 'handled')
  assertAnswer(await deliver(port, delivery, { path: '/bindings' }), 500, 'misconfigured')
  expect(reports).toEqual([
    expect.stringMatching(/returned undefined.*use env\(c\) of hono\/adapter, or process\.env\.$/),
  ])
})

test.each<[string, MiddlewareHandler]>([
  [
    'sets one before next()',
    (c, next) => {
      c.res = new Response('mine')
      return next()
    },
  ],
  [
    'returns one without awaiting next()',
    async (c, next) => {
      void next()
      return c.text('mine')
    },
  ],
])('the answer of a middleware that %s is what the sender gets, and that is reported', async (_, before) => {
  const reported = deferred<unknown>()
  const server = await serve(before, {}, (error) => reported.resolve(error))
  const { header, body } = await sign(orderCreated())
  const answer = await post(server.port, { headers: { 'x-service-signature': header }, body })
  expect([answer.status, answer.text]).toEqual([200, 'mine'])
  expect(await reported.promise).toMatchObject({
    message: expect.stringMatching(/ended as handled, but .* already been answered/),
  })
})

test('a client that sends a body over its limit whole sees the refusal, and goes on with its connection', async () => {
  const server = await serve((_, next) => next())
  const client = await dial(server.port)
  const { header } = await sign(orderCreated())
  const length = 5_000_000
  await client.write(
    `POST /hooks HTTP/1.1\r\nhost: x\r\nx-service-signature: ${header}\r\ncontent-length: ${length}\r\n\r\n`,
  )
  for (let sent = 0; sent < length; sent += 50_000) await client.write('x'.repeat(50_000))
  expect((await client.answer()).status).toBe(413)
  const next = await sign(orderCreated())
  await client.write(requestHead({ 'x-service-signature': next.header, 'content-length': next.body.length }))
  await client.write(next.body)
  expect((await client.answer()).status).toBe(200)
  client.destroy()
})
