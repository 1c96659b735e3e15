import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2Server,
  Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import Koa from 'koa'
import type { WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { tixWebhooks as forKoa } from '../../examples/own-adapter.js'
import { orderCreated, type SignedDelivery, sign } from '../support/deliveries.js'
import { FASTIFY_VERSIONS } from '../support/fastify.js'
import { watched } from '../support/watched.js'

type Start = (options: WebhookOptions) => Http2Server | Promise<Http2Server>

function onWebRequests(handle: (request: Request) => Response | Promise<Response>): Http2Server {
  const http2 = { createServer: createServer as never }
  return createAdaptorServer({ ...http2, fetch: (request) => handle(request) }) as Http2Server
}

// Express has no HTTP/2: its requests and responses are those of HTTP/1 by their prototype.
const HOSTS: readonly (readonly [string, Start])[] = [
  ['node:http2', (options) => createServer(forNode(options) as never)],
  ...FASTIFY_VERSIONS.flatMap(({ version, fastify }) =>
    [false, true].map((isLayered) => {
      const start: Start = async (options) => {
        const app = fastify({ http2: true })
        if (isLayered) {
          app.addHook('preParsing', async (_request, _reply, payload) => payload.pipe(new PassThrough()))
        }
        app.post('/hooks', forFastify(options))
        await app.ready()
        return app.server as Http2Server
      }
      return [`Fastify ${version}${isLayered ? ' with a layer over the payload' : ''}`, start] as const
    }),
  ),
  ['Hono', (options) => onWebRequests(new Hono().post('/hooks', forHono(options)).fetch)],
  ['fetch', (options) => onWebRequests(forFetch(options))],
  [
    'Koa, as in examples/own-adapter.ts',
    (options) => {
      const app = new Koa().use(forKoa(options))
      // Koa would print an error for each client that disconnects.
      app.silent = true
      return createServer(app.callback() as never)
    },
  ],
]

async function serve(start: Start, overrides: Partial<WebhookOptions> = {}) {
  const seen = watched(overrides)
  const server = await start(seen.options)
  const sessions: { destroy(): void }[] = []
  server.on('session', (session) => sessions.push(session))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  session.on('error', () => {})
  onTestFinished(async () => {
    session.destroy()
    for (const one of sessions) one.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { ...seen, session }
}

/** Opens a stream, and waits until the server has its head. */
async function open(session: ClientHttp2Session, header: string): Promise<ClientHttp2Stream> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/hooks',
    'x-service-signature': header,
    expect: '100-continue',
  })
  stream.on('error', () => {})
  await once(stream, 'continue')
  return stream
}

async function answerOf(stream: ClientHttp2Stream): Promise<readonly unknown[]> {
  const [headers] = await once(stream, 'response')
  return [headers[':status'], (await stream.toArray()).join('')]
}

async function send(session: ClientHttp2Session, { header, body }: SignedDelivery) {
  const stream = await open(session, header)
  stream.end(body)
  return answerOf(stream)
}

const DEPARTURES: readonly (readonly [
  how: string,
  leave: (stream: ClientHttp2Stream, session: ClientHttp2Session) => unknown,
])[] = [
  ['cancels its stream', (stream) => stream.close(constants.NGHTTP2_CANCEL)],
  ['closes its stream without an error', (stream) => stream.close(constants.NGHTTP2_NO_ERROR)],
  ['destroys its stream', (stream) => stream.destroy()],
  ['destroys its session', (_, session) => session.destroy()],
]

describe.each(HOSTS)('HTTP/2 on %s', (_name, start) => {
  test.each(DEPARTURES)('a client that %s in the middle of its body is incomplete', async (_how, leave) => {
    const { session, recorded, records, reports, runs } = await serve(start)
    const { header, body } = await sign(orderCreated())
    const stream = await open(session, header)
    await new Promise((resolve) => stream.write(body.subarray(0, 20), resolve))
    leave(stream, session)
    await recorded(1)
    expect(records).toMatchObject([{ outcome: 'incomplete', code: 'body_incomplete' }])
    expect(reports).toEqual([expect.stringContaining('client went away')])
    expect(runs).toEqual([])
  })

  test('a client that stops sending is answered at the deadline, without a header that HTTP/2 forbids', async () => {
    const warnings: Error[] = []
    const note = (warning: Error): number => warnings.push(warning)
    process.on('warning', note)
    // Node drops the header, and warns of it once in a process: too seldom for every host to be seen.
    const given = (['setHeader', 'writeHead'] as const).map((name) =>
      vi.spyOn(Http2ServerResponse.prototype, name),
    )
    onTestFinished(() => {
      process.off('warning', note)
      vi.restoreAllMocks()
    })
    const { session, records } = await serve(start, { timeoutSeconds: 0.3 })
    const { header, body } = await sign(orderCreated())
    const stream = await open(session, header)
    stream.write(body.subarray(0, 20))
    expect(await answerOf(stream)).toEqual([400, '{"outcome":"incomplete"}'])
    expect(records).toMatchObject([{ outcome: 'incomplete', code: 'body_incomplete' }])
    expect(warnings.filter(({ name }) => name === 'UnsupportedWarning')).toEqual([])
    expect(JSON.stringify(given.map(({ mock }) => mock.calls))).not.toContain('connection')
  })

  test('a whole body is judged by its signature', async () => {
    const { session, records } = await serve(start)
    expect(await send(session, await sign(orderCreated()))).toEqual([200, '{"outcome":"handled"}'])
    const forged = await sign(orderCreated(), { secret: 'another' })
    expect(await send(session, forged)).toEqual([401, '{"outcome":"unauthenticated"}'])
    expect(records.map(({ outcome }) => outcome)).toEqual(['handled', 'unauthenticated'])
  })
})
