import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { createAdaptorServer } from '@hono/node-server'
import type { Express } from 'express'
import { type Context, Hono } from 'hono'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { EXPRESS_VERSIONS } from '../support/express.js'
import { FASTIFY_VERSIONS } from '../support/fastify.js'
import { dial, type HttpAnswer, type Listening, listen, post, requestHead } from '../support/http.js'
import { assertAnswer, deliver, jsonHeaders } from '../support/raw-bytes-harness.js'

/** The header with the fault that a request's host must have. */
const FAULT_HEADER = 'x-test-fault'

const options = {
  secret: SECRET,
  on: { 'order.created': () => {} },
  onError() {},
}

function fail(): never {
  throw new Error('a host that misbehaves')
}

function throwing(owner: object, name: string): void {
  Object.defineProperty(owner, name, { get: fail, configurable: true })
}

/** Changes that a middleware may make to Node's own request and response before we get them. */
const NODE_ACTS = {
  'writeHead throws once': (_, response) => {
    const { writeHead } = response
    response.writeHead = () => {
      response.writeHead = writeHead
      fail()
    }
  },
  'writeHead throws': (_, response) => {
    response.writeHead = fail
  },
  'end throws': (_, response) => {
    response.end = fail
  },
  'the headers of the request throw': (request) => throwing(request, 'headers'),
  'the body throws': (request) => throwing(request, 'body'),
  'the type of a body that was read throws': (request) => {
    Object.defineProperty(request, 'readableDidRead', { value: true })
    Object.assign(request, { is: fail })
  },
  'writeHead returns nothing': (_, response) => {
    const { writeHead } = response
    response.writeHead = (...args: unknown[]) => {
      Reflect.apply(writeHead, response, args)
      return undefined as never
    }
  },
  'end rejects': (_, response) => {
    const { end } = response
    response.end = (async (...args: unknown[]) => {
      Reflect.apply(end, response, args)
      fail()
    }) as never
  },
  'setHeader throws': (_, response) => {
    response.setHeader('x-kept', 'yes')
    response.setHeader = fail
  },
  'removeHeader throws': (_, response) => {
    response.setHeader('etag', '"another"')
    response.removeHeader = fail
  },
  'the reason phrase throws': (_, response) => {
    Object.defineProperty(response, 'statusMessage', { get: () => undefined, set: fail })
  },
  'the headers are flushed': (_, response) => response.flushHeaders(),
  'the answer is begun and left': (_, response) => {
    response.writeHead(202).write('begun')
  },
  'the payload is numbers': () => {},
  'the payload is objects': () => {},
  'the serializer throws': () => {},
  'the serializer encodes': () => {},
  'the log throws': () => {},
  'the response is destroyed': (_, response) => {
    response.destroy()
  },
  'the answer is begun': (_, response) => {
    response.writeHead(202).write('begun')
    setImmediate(() => response.end())
  },
  'the reason phrase is invalid': (_, response) => {
    response.statusMessage = 'two\r\nlines'
  },
  'framing is preset': (_, response) => {
    response.setHeader('transfer-encoding', 'chunked')
    response.setHeader('trailer', 'x-sum')
  },
  'another body is preset': (_, response) => {
    response.statusCode = 204
    response.statusMessage = 'Fine'
    response.setHeader('content-length', 5)
    response.setHeader('content-encoding', 'gzip')
    response.setHeader('etag', '"another"')
    response.setHeader('retry-after', '86400')
    response.setHeader('x-kept', 'yes')
  },
  'errors are emitted after the answer': (request, response) => {
    response.on('finish', () => {
      request.emit('error', new Error('late'))
      response.emit('error', new Error('late'))
      response.write('more')
    })
  },
} satisfies Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>>
type NodeFault = keyof typeof NODE_ACTS

/** Changes that a middleware may make to a web-standard request, or to Hono's context. */
const WEB_ACTS = {
  'the headers of the request throw': (request, c) => {
    throwing(request, 'headers')
    if (c !== undefined) c.req.header = fail as typeof c.req.header
  },
  'the body throws': (request) => {
    throwing(request, 'body')
    throwing(request, 'arrayBuffer')
  },
  'the body is locked': (request) => void (request as Request).body?.getReader(),
  'the body was cancelled': (request) => void (request as Request).body?.cancel(),
  'the body was read under it': (_, c) => (c as Context).env.incoming.toArray(),
  'another body is preset': (_, c) => {
    c?.status(204)
    for (const [name, value] of [
      ['content-length', '5'],
      ['content-encoding', 'gzip'],
      ['etag', '"another"'],
      ['retry-after', '86400'],
      ['x-kept', 'yes'],
    ] as const) {
      c?.res.headers.set(name, value)
    }
  },
  'framing is preset': (_, c) => {
    c?.res.headers.set('transfer-encoding', 'chunked')
    c?.res.headers.set('trailer', 'x-sum')
  },
} satisfies Readonly<Record<string, (request: object, c?: Context) => unknown>>
type WebFault = keyof typeof WEB_ACTS

function sabotage(request: IncomingMessage, response: ServerResponse): void {
  const fault = request.headers[FAULT_HEADER] as NodeFault | undefined
  if (fault !== undefined) NODE_ACTS[fault](request, response)
}

async function sabotageWeb(request: Request, c?: Context): Promise<void> {
  const fault = request.headers.get(FAULT_HEADER) as WebFault | null
  if (fault !== null) await WEB_ACTS[fault](request, c)
}

function expressHost(create: () => Express): RequestListener {
  const app = create()
  const hooks = forExpress(options)
  app.use((request, response, next) => {
    sabotage(request, response)
    next()
  })
  app.post('/hooks', hooks)
  return app
}

async function fastifyHost(create: (typeof FASTIFY_VERSIONS)[0]['fastify']): Promise<Server> {
  const app = create()
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers[FAULT_HEADER] === 'the log throws') request.log.error = fail
    else sabotage(request.raw, reply.raw)
    if (request.headers[FAULT_HEADER] === 'the serializer throws') reply.serializer(fail)
    if (request.headers[FAULT_HEADER] === 'the serializer encodes') reply.serializer(JSON.stringify)
  })
  app.addHook('preParsing', async (request, _reply, payload) => {
    const fault = request.headers[FAULT_HEADER]
    if (fault === 'the payload is numbers') return Readable.from(new Uint8Array(3))
    if (fault === 'the payload is objects') return Readable.from([{}, {}])
    return payload
  })
  const { onError: _, ...logged } = options
  app.post('/hooks', forFastify(logged))
  await app.ready()
  return app.server
}

const STARTS = {
  'Express 4': () => expressHost(EXPRESS_VERSIONS[1].express),
  'Express 5': () => expressHost(EXPRESS_VERSIONS[0].express),
  'Fastify 4': () => fastifyHost(FASTIFY_VERSIONS[1].fastify),
  'Fastify 5': () => fastifyHost(FASTIFY_VERSIONS[0].fastify),
  'node:http': () => {
    const hooks = forNode(options)
    return (request, response) => {
      sabotage(request, response)
      void hooks(request, response)
    }
  },
  Hono: () => {
    const app = new Hono().use(async (c, next) => {
      await sabotageWeb(c.req.raw, c)
      await next()
    })
    app.onError((_error, c) => c.text('by the app', 500))
    return createAdaptorServer(app.post('/hooks', forHono(options))) as Server
  },
  fetch: () => {
    const hooks = forFetch(options)
    const handle = async (request: Request): Promise<Response> => {
      await sabotageWeb(request)
      return hooks(request)
    }
    return createAdaptorServer({ fetch: handle }) as Server
  },
} satisfies Readonly<Record<string, () => Server | RequestListener | Promise<Server>>>
type HostName = keyof typeof STARTS

/** The answer to an unsigned request if the host has the fault. */
type End =
  | 'ours'
  | 'misconfigured'
  | 'incomplete'
  | 'begun'
  | 'flushed'
  | 'by the app'
  | '5xx'
  | 'closed'
  | '5xx or closed'

const NODE_FAULTS = {
  'writeHead throws once': '5xx',
  'writeHead throws': '5xx or closed',
  'writeHead returns nothing': 'ours',
  'setHeader throws': '5xx or closed',
  'removeHeader throws': '5xx or closed',
  'the reason phrase throws': '5xx or closed',
  'end throws': 'closed',
  'the headers of the request throw': '5xx',
  'the response is destroyed': 'closed',
  'the answer is begun': 'begun',
  'the answer is begun and left': 'begun',
  'the headers are flushed': 'flushed',
  'the reason phrase is invalid': 'ours',
  'framing is preset': 'ours',
  'another body is preset': 'ours',
  'errors are emitted after the answer': 'ours',
} as const satisfies Partial<Record<NodeFault, End>>

const EXPRESS_FAULTS = {
  ...NODE_FAULTS,
  'the body throws': '5xx',
  'the type of a body that was read throws': '5xx',
} as const satisfies Partial<Record<NodeFault, End>>

const FASTIFY_FAULTS = {
  ...NODE_FAULTS,
  'the log throws': 'ours',
  'the payload is numbers': 'misconfigured',
  'the payload is objects': 'misconfigured',
  'the serializer throws': 'ours',
  'the serializer encodes': 'ours',
} as const satisfies Partial<Record<NodeFault, End>>

const WEB_FAULTS = {
  'the headers of the request throw': '5xx',
  'the body throws': 'incomplete',
  'the body is locked': 'misconfigured',
  'the body was cancelled': 'misconfigured',
} as const satisfies Partial<Record<WebFault, End>>

const HOSTS: readonly (readonly [HostName, Partial<Record<NodeFault | WebFault, End>>])[] = [
  ['Express 4', EXPRESS_FAULTS],
  ['Express 5', EXPRESS_FAULTS],
  ['Fastify 4', FASTIFY_FAULTS],
  ['Fastify 5', FASTIFY_FAULTS],
  ['node:http', { ...NODE_FAULTS, 'end rejects': 'ours' }],
  [
    'Hono',
    {
      ...WEB_FAULTS,
      'the headers of the request throw': 'by the app',
      'the body was read under it': 'misconfigured',
      'framing is preset': 'ours',
      'another body is preset': 'ours',
    },
  ],
  ['fetch', WEB_FAULTS],
]

// An uncaught error would end a process, and fails the run.
describe.each(HOSTS)('a process with %s lives on, and answers, where', (name, faults) => {
  let host: Listening
  beforeAll(async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    host = await listen(await STARTS[name]())
  })
  afterAll(() => host.close())

  test.each(Object.entries(faults) as [NodeFault | WebFault, End][])('%s: %s', async (fault, end) => {
    const forged = await sign(orderCreated(), { secret: 'another' })
    const headers = { 'x-test-fault': fault }
    assertEnd(await deliver(host.port, forged, { headers }).catch(() => 'closed' as const), end)
    await post(host.port, { headers }).catch(() => {})
    assertAnswer(await deliver(host.port, await sign(orderCreated())), 200, 'handled')
  })

  test('clients leave at any point', async () => {
    const { header, body } = await sign(orderCreated(), { secret: 'another' })
    const head = requestHead({
      ...jsonHeaders(header),
      'content-length': body.length,
      expect: '100-continue',
    })
    const whole = Buffer.concat([Buffer.from(head), body])
    // Before, between and within the head and the body, and while the answer is written.
    for (const sent of [0, 10, head.length, head.length + 10, whole.length]) {
      for (const how of ['destroy', 'reset'] as const) {
        const client = await dial(host.port)
        await client.write(whole.subarray(0, sent))
        client[how]()
        await client.closed
      }
    }
    assertAnswer(await deliver(host.port, await sign(orderCreated())), 200, 'handled')
  })
})

function assertEnd(answer: HttpAnswer | 'closed', end: End): void {
  if (answer === 'closed') {
    expect(end).toMatch(/closed$/)
    return
  }
  const { status, text, headers } = answer
  if (end === 'ours') {
    assertAnswer(answer, 401, 'unauthenticated')
    expect(headers['content-length']).toBe(String(text.length))
    const kept = ['transfer-encoding', 'trailer', 'content-encoding', 'etag', 'retry-after']
    expect(kept.filter((name) => name in headers)).toEqual([])
  } else if (end === 'misconfigured') assertAnswer(answer, 500, 'misconfigured')
  else if (end === 'incomplete') assertAnswer(answer, 400, 'incomplete')
  else if (end === 'begun') expect([status, text]).toEqual([202, 'begun'])
  else if (end === 'flushed') expect([status, text]).toEqual([200, ''])
  else if (end === 'by the app') expect([status, text]).toEqual([500, 'by the app'])
  else expect([end.startsWith('5xx'), status]).toEqual([true, 500])
}
