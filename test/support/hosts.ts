// An app of each framework, with the fault that a request names, if it names one.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { createAdaptorServer } from '@hono/node-server'
import express5, { type Express } from 'express'
// @ts-expect-error It is installed without its types.
import express4 from 'express4'
import fastify5 from 'fastify'
import fastify4 from 'fastify4'
import { type Context, Hono } from 'hono'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import { SECRET } from './deliveries.js'
import { type Listening, listen } from './http.js'

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
const NODE_FAULTS = {
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
export type NodeFault = keyof typeof NODE_FAULTS

/** Changes that a middleware may make to a web-standard request, or to Hono's context. */
const WEB_FAULTS = {
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
export type WebFault = keyof typeof WEB_FAULTS

function sabotage(request: IncomingMessage, response: ServerResponse): void {
  const fault = request.headers[FAULT_HEADER] as NodeFault | undefined
  if (fault !== undefined) NODE_FAULTS[fault](request, response)
}

async function sabotageWeb(request: Request, c?: Context): Promise<void> {
  const fault = request.headers.get(FAULT_HEADER) as WebFault | null
  if (fault !== null) await WEB_FAULTS[fault](request, c)
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

async function fastifyHost(create: typeof fastify5): Promise<Server> {
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

const HOSTS = {
  'Express 4': () => expressHost(express4),
  'Express 5': () => expressHost(express5),
  'Fastify 4': () => fastifyHost(fastify4 as unknown as typeof fastify5),
  'Fastify 5': () => fastifyHost(fastify5),
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
export type HostName = keyof typeof HOSTS

export async function startHost(name: HostName): Promise<Listening> {
  return listen(await HOSTS[name]())
}
