import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { gzipSync } from 'node:zlib'
import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { env } from 'hono/adapter'
import { bodyLimit } from 'hono/body-limit'
import type { WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/hono'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET, type SignedDelivery, sign } from '../support/deliveries.js'
import { answerOf, PlatformContext, requestOf } from '../support/fetching.js'
import { dial, type HttpAnswer, listen } from '../support/http.js'
import { deferred } from '../support/promises.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'
import { watched } from '../support/watched.js'

const on = { 'order.created': () => {} }
const HANDLED = { status: 200, text: '{"outcome":"handled"}' }
const MISCONFIGURED = { status: 500, text: '{"outcome":"misconfigured"}' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf)

/** An app with a middleware before the webhook. */
function appWith(before: MiddlewareHandler, overrides: Partial<WebhookOptions> = {}) {
  const seen = watched(overrides)
  const hooks = tixWebhooks({ ...(seen.options as WebhookOptions<Context>), secret: SECRET })
  return { ...seen, app: new Hono().use(before).post('/hooks', hooks) }
}

/** The same, on a server of Node's. */
async function serve(
  before: MiddlewareHandler,
  overrides: Partial<WebhookOptions> = {},
  serverOptions: object = {},
) {
  const { app, ...seen } = appWith(before, overrides)
  const { port, close } = await listen(
    createAdaptorServer({ ...app, fetch: app.fetch, createServer, serverOptions }) as Server,
  )
  onTestFinished(close)
  return { ...seen, port }
}

const next: MiddlewareHandler = (_, goOn) => goOn()

/** A middleware that does something with the request before us. */
const doing =
  (what: (c: Context) => unknown): MiddlewareHandler =>
  async (c, goOn) => {
    await what(c)
    await goOn()
  }

test('default reports go to console.error, with the whole path', async () => {
  const onConsole = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => onConsole.mockRestore())
  const hooks = new Hono().post('/tix', tixWebhooks({ secret: SECRET, on }))
  const app = new Hono().basePath('/v1').route('/hooks', hooks)
  await app.request(requestOf(await sign(orderCreated(), { secret: 'another' }), {}, '/v1/hooks/tix'))
  expect(onConsole.mock.calls).toEqual([
    [expect.stringMatching(/^tix-webhooks: \[\/v1\/hooks\/tix\] No signature.+matches.+$/)],
  ])
})

test.each([
  [10_000, HANDLED],
  [50, { status: 413, text: '{"outcome":"too_large"}' }],
])("behind hono's bodyLimit our maxBodyBytes of %i holds", async (maxBodyBytes, expected) => {
  const { port } = await serve(bodyLimit({ maxSize: 10_000 }), { maxBodyBytes })
  const delivery = await sign(orderCreated())
  const body = [delivery.body.slice(0, 9), delivery.body.slice(9)]
  expect(await deliver(port, delivery, { body })).toMatchObject(expected)
})

test.each<[string, unknown]>([
  ['a variable', 'on'],
  ['a binding', { send: () => {} }],
  ['nothing', null],
])('%s called as what the server of Node puts into c.env is not taken for it', async (_, incoming) => {
  const { app } = appWith(next)
  const answer = await app.request(requestOf(await sign(orderCreated())), undefined, { incoming })
  expect(await answerOf(answer)).toMatchObject(HANDLED)
})

test('the secret comes from env(c) of hono/adapter; c.env does not have it, and the report says so', async () => {
  vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
  onTestFinished(() => void vi.unstubAllEnvs())
  type AppEnv = { Bindings: { TIX_SIGNING_SECRET: string } }
  const reports: unknown[] = []
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

test.each([
  ['is handed to waitUntil, and its completion is recorded', new PlatformContext()],
  ['is answered as well where there is no executionCtx', undefined],
])('a handler that outlives the deadline %s', async (_, context) => {
  const finish = deferred()
  const { app } = appWith(next, { on: { 'order.created': () => finish.promise }, timeoutSeconds: 1 })
  const delivery = await sign(orderCreated())
  const send = async () => answerOf(await app.request(requestOf(delivery), undefined, undefined, context))
  expect(await send()).toMatchObject({
    status: 503,
    text: '{"outcome":"timed_out"}',
    headers: { 'retry-after': '5' },
  })
  finish.resolve()
  if (context === undefined) return
  // The delivery up to its answer, and the rest of its run.
  expect(context.kept).toHaveLength(2)
  await Promise.all(context.kept)
  expect(await send()).toMatchObject({ status: 200, text: '{"outcome":"duplicate"}' })
  expect(context.kept).toHaveLength(2)
})

interface Client {
  readonly name: string
  send(app: Hono, delivery: SignedDelivery, headers?: Record<string, string>): Promise<HttpAnswer>
}

const CLIENTS: readonly Client[] = [
  {
    name: 'through app.request()',
    send: async (app, delivery, headers) => answerOf(await app.request(requestOf(delivery, headers))),
  },
  {
    name: 'on a real socket',
    async send(app, delivery, headers = {}) {
      const { port, close } = await listen(createAdaptorServer(app) as Server)
      return deliver(port, delivery, { headers }).finally(close)
    },
  },
]

describe.each(CLIENTS)('a body that a middleware read, $name,', ({ send }) => {
  test.each<[string, (c: Context) => unknown, Record<string, string>?]>([
    ['c.req.text()', (c) => c.req.text()],
    ['c.req.json()', (c) => c.req.json()],
    ['c.req.arrayBuffer()', (c) => c.req.arrayBuffer()],
    ['c.req.text(), then arrayBuffer()', (c) => c.req.text().then(() => c.req.arrayBuffer())],
    ['c.req.text() that nobody awaited', (c) => void c.req.text()],
    ['a clone of the raw request', (c) => c.req.raw.clone().text()],
    ['c.req.parseBody() of a form', (c) => c.req.parseBody(), FORM],
    ['c.req.parseBody()', (c) => c.req.parseBody()],
  ])('by %s, is handled over its exact bytes', async (_, read, headers) => {
    const { app, runs } = appWith(doing(read))
    const delivery = await sign(orderCreated())
    expect(await send(app, delivery, headers)).toMatchObject(HANDLED)
    expect(runs.map(({ rawBody }) => Buffer.from(rawBody))).toEqual([Buffer.from(delivery.body)])
  })

  test.each<[string, (c: Context) => unknown]>([
    ['c.req.formData()', (c) => c.req.formData()],
    ['c.req.raw.text()', (c) => c.req.raw.text()],
    ['a reader of c.req.raw.body', (c) => c.req.raw.body?.getReader().read()],
    ['c.req.formData(), of which c.req.text() was made', (c) => c.req.formData().then(() => c.req.text())],
  ])('by %s, is misconfigured, and the report has the fix', async (_, read) => {
    const { app, reports, runs } = appWith(doing(read))
    expect(await send(app, await sign(orderCreated()), FORM)).toMatchObject(MISCONFIGURED)
    expect(reports).toEqual([
      expect.stringMatching(/already read.+form.+c\.req\.raw.+mount.+before it.+c\.req\.arrayBuffer\(\)/s),
    ])
    expect(runs).toEqual([])
  })

  test.each<[string, (c: Context) => unknown, boolean]>([
    ['c.req.arrayBuffer()', (c) => c.req.arrayBuffer(), true],
    ['c.req.text()', (c) => c.req.text(), false],
    ['c.req.text(), then arrayBuffer()', (c) => c.req.text().then(() => c.req.arrayBuffer()), false],
  ])('by %s, has its byte order mark, or the report names it', async (_, read, isKept) => {
    const { app, reports } = appWith(doing(read))
    const marked = await sign(Buffer.concat([BOM, Buffer.from(JSON.stringify(orderCreated()))]))
    const { status } = await send(app, marked)
    expect(status).toBe(isKept ? 200 : 401)
    const named = expect.stringMatching(/byte order mark.+c\.req\.arrayBuffer\(\)/s)
    expect(reports).toEqual(isKept ? [] : [named])
  })

  test('is held to maxBodyBytes', async () => {
    const { app } = appWith(
      doing((c) => c.req.text()),
      { maxBodyBytes: 50 },
    )
    expect(await send(app, await sign(orderCreated()))).toMatchObject({ status: 413 })
  })

  test('after us, is there in every form; what a handler does to it leaves ctx.rawBody alone', async () => {
    const read: unknown[] = []
    const overwrite = async (
      _event: unknown,
      { request, rawBody }: { request: unknown; rawBody: Uint8Array },
    ) => {
      new Uint8Array(await (request as Context).req.arrayBuffer()).fill(0x20)
      read.push(Buffer.from(rawBody).toString())
    }
    const reading: MiddlewareHandler = async (c, goOn) => {
      await goOn()
      read.push(await c.req.text(), await c.req.json(), Buffer.from(await c.req.arrayBuffer()).toString())
      read.push(await (await c.req.blob()).text())
    }
    const order = orderCreated()
    const text = JSON.stringify(order)
    expect(await send(appWith(reading).app, await sign(order))).toMatchObject(HANDLED)
    expect(read.splice(0)).toEqual([text, order, text, text])
    const { app } = appWith(next, { on: { 'order.created': overwrite as never } })
    expect(await send(app, await sign(order))).toMatchObject(HANDLED)
    expect(read).toEqual([text])
  })
})

/** Puts a body of its own in the place of the one that was sent, which its `content-length` still speaks of. */
function replacing(
  make: (body: ReadableStream<Uint8Array<ArrayBuffer>>) => ReadableStream,
): MiddlewareHandler {
  return (c, goOn) => {
    const { raw } = c.req
    const body = make(raw.body as ReadableStream<Uint8Array<ArrayBuffer>>)
    const init = { method: 'POST', headers: raw.headers, body, duplex: 'half' }
    c.req.raw = new Request(raw.url, init as RequestInit)
    return goOn()
  }
}

describe('on Node, a middleware', () => {
  test.each<[string, MiddlewareHandler, (body: Uint8Array) => Uint8Array]>([
    ['inflates', replacing((body) => body.pipeThrough(new DecompressionStream('gzip'))), gzipSync],
    ['only passes on', replacing((body) => body), (body) => body],
    ['has looked at and left alone', doing((c) => expect(c.req.raw.body).not.toBeNull()), (body) => body],
  ])('that %s the body has its bytes verified', async (_, before, encode) => {
    const { port } = await serve(before)
    const { header, body } = await sign(orderCreated())
    assertAnswer(await deliver(port, { header, body: encode(body) }), 200, 'handled')
  })

  test('that makes a bomb of a few bytes is read no further than to the limit', async () => {
    let chunks = 0
    const bomb = (): ReadableStream =>
      new ReadableStream({
        pull(controller) {
          chunks += 1
          if (chunks > 100) controller.close()
          else controller.enqueue(new Uint8Array(1_000))
        },
      })
    const { port } = await serve(replacing(bomb), { maxBodyBytes: 10_000 })
    assertAnswer(await deliver(port, await sign(orderCreated())), 413, 'too_large')
    expect(chunks).toBeLessThan(20)
  })

  test('that is reading through c.req.raw has the body, though nothing of it has come yet', async () => {
    const reading: Promise<unknown>[] = []
    const { port } = await serve((c, goOn) => {
      reading.push(c.req.raw.arrayBuffer())
      return goOn()
    })
    assertAnswer(await deliver(port, await sign(orderCreated())), 500, 'misconfigured')
    await Promise.all(reading)
  })

  test.each<[string, (incoming: IncomingMessage) => Promise<unknown>, boolean]>([
    ['whole, in chunks', (incoming) => incoming.toArray(), true],
    ['in part', (incoming) => once(incoming, 'data'), false],
  ])(
    'that read c.env.incoming, %s, is misconfigured, and the report says so',
    async (_, consume, isChunked) => {
      const { port, reports } = await serve(doing((c) => consume(c.env.incoming)))
      const delivery = await sign(orderCreated())
      const body = isChunked ? [Buffer.from(delivery.body)] : delivery.body
      assertAnswer(await deliver(port, delivery, { body }), 500, 'misconfigured')
      expect(reports).toEqual([
        expect.stringMatching(/read it as a form, or through c\.req\.raw or c\.env\.incoming/),
      ])
    },
  )

  test('of a lenient parser, which lets a length through with chunks, is read no further than to the limit', async () => {
    let bytesRead = 0
    const counting: MiddlewareHandler = async (c, goOn) => {
      const { socket } = c.env.incoming
      await goOn()
      bytesRead = socket.bytesRead
    }
    const { port } = await serve(counting, { maxBodyBytes: 10_000 }, { insecureHTTPParser: true })
    const client = await dial(port)
    const { header } = await sign(orderCreated())
    await client.write(
      `POST /hooks HTTP/1.1\r\nhost: x\r\nx-service-signature: ${header}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
    )
    const answering = client.answer()
    const chunk = `${(5_000).toString(16)}\r\n${'x'.repeat(5_000)}\r\n`
    for (let i = 0; i < 3; i++) await client.write(chunk)
    // The last chunk never comes: who waits for it gives no answer before the deadline.
    expect((await answering).status).toBe(413)
    expect(bytesRead).toBeLessThan(100_000)
    client.destroy()
  })

  test.each<[string, MiddlewareHandler, string]>([
    [
      'returns one without awaiting next()',
      async (c, goOn) => {
        void goOn()
        return c.text('mine')
      },
      'mine',
    ],
    [
      'has begun one',
      async (c, goOn) => {
        c.env.outgoing.flushHeaders()
        await goOn()
        c.env.outgoing.end()
      },
      '',
    ],
  ])('that %s has answered the sender, and that is reported', async (_, before, text) => {
    const reported = deferred<unknown>()
    const { port } = await serve(before, { onError: (error) => reported.resolve(error) })
    expect(await deliver(port, await sign(orderCreated()))).toMatchObject({ status: 200, text })
    expect(await reported.promise).toMatchObject({
      message: expect.stringMatching(/ended as handled, but .* already been answered/),
    })
  })
})
