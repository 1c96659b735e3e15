import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { freePort } from '../../../../test/support/free-port.js'
import { type Listening, listen } from '../../../../test/support/http.js'
import { type HttpSenderOptions, httpSender } from '../../../engine/network/http-sender.js'
import type { OutgoingRequest } from '../../../engine/network/send.js'

const servers: Listening[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function serve(handler: RequestListener | Server): Promise<string> {
  const server = await listen(handler)
  servers.push(server)
  return server.url
}

/** A TCP server that runs `onSocket` on each connection. */
async function raw(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onSocket(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  servers.push({
    port,
    url: '',
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  })
  return `http://127.0.0.1:${port}`
}

const send = (request: Partial<OutgoingRequest> & { url: string }, options?: HttpSenderOptions) =>
  httpSender(options)({
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{"some":"body"}'),
    timeoutMs: 5000,
    ...request,
  })

/** Reads a request whole, and notes how it came. */
const reading =
  (noted: { chunks: string[]; headers: NodeJS.Dict<string | string[]> }[]): RequestListener =>
  async (request, response) => {
    const chunks: string[] = []
    for await (const chunk of request) chunks.push(String(chunk))
    noted.push({ chunks, headers: request.headers })
    response.end()
  }

describe('a body', () => {
  test('travels whole, with its length, on a connection that is closed', async () => {
    const noted: Parameters<typeof reading>[0] = []
    const url = await serve(reading(noted))
    expect(await send({ url })).toMatchObject({ response: { status: 200 } })
    expect(noted).toMatchObject([
      { chunks: ['{"some":"body"}'], headers: { 'content-length': '15', connection: 'close' } },
    ])
    expect(noted[0]?.headers).not.toHaveProperty('transfer-encoding')
  })

  test('travels in chunks, without a length, whatever length was given', async () => {
    const noted: Parameters<typeof reading>[0] = []
    const url = await serve(reading(noted))
    await send({ url, transport: 'chunked', headers: { 'content-length': '15' } })
    expect(noted[0]?.headers['transfer-encoding']).toBe('chunked')
    expect(noted[0]?.headers).not.toHaveProperty('content-length')
    expect(noted[0]?.chunks.join('')).toBe('{"some":"body"}')
  })

  test('travels slowly, in a few pieces, with its length', async () => {
    const noted: Parameters<typeof reading>[0] = []
    const url = await serve(reading(noted))
    const startMs = performance.now()
    await send({ url, transport: 'slow' })
    expect(performance.now() - startMs).toBeGreaterThan(70)
    // Of a process that is held up, the system may have sent two together.
    expect(noted[0]?.chunks.join('')).toBe('{"some":"body"}')
    expect(noted[0]?.chunks.length).toBeGreaterThan(1)
    expect(noted[0]?.headers['content-length']).toBe('15')
  })

  test('that is slow is left unsent where the answer comes first', async () => {
    const url = await serve((_, response) => response.writeHead(413).end('too large'))
    const result = await send({ url, transport: 'slow', body: Buffer.alloc(100_000) })
    expect(result).toMatchObject({ response: { status: 413, body: 'too large' } })
  })
})

describe('an answer', () => {
  test('is read whole up to 64 KiB', async () => {
    const url = await serve((_, response) => void response.end('x'.repeat(65_536)))
    const { response } = await send({ url })
    expect(response?.body).toHaveLength(65_536)
    expect(response?.truncated).toBe(false)
  })

  test('[N113] that is larger is cut, and the connection with it, though it would go on for ever', async () => {
    let closed = false
    const url = await serve((_, response) => {
      response.on('close', () => {
        closed = true
      })
      const more = () => {
        if (!response.destroyed) response.write('y'.repeat(1000), () => setImmediate(more))
      }
      more()
    })
    const { response } = await send({ url, timeoutMs: 0 })
    expect(response).toMatchObject({ status: 200, body: 'y'.repeat(65_536), truncated: true })
    while (!closed) await new Promise((resolve) => setImmediate(resolve))
  })

  test('is cut between characters', async () => {
    const url = await serve((_, response) => void response.end(`x${'ü'.repeat(40_000)}`))
    const { response } = await send({ url })
    expect(response).toMatchObject({ body: `x${'ü'.repeat(32_767)}`, truncated: true })
  })

  test('has at most 100 headers, and several of one name are one', async () => {
    const url = await serve((_, response) => {
      for (let index = 0; index < 150; index++) response.setHeader(`x-${index}`, String(index))
      response.setHeader('x-0', ['a', 'b'])
      response.end()
    })
    const headers = (await send({ url })).response?.headers ?? {}
    expect(Object.keys(headers)).toHaveLength(100)
    expect(headers['x-0']).toBe('a, b')
  })

  test.each([
    ['a 204', 'HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello', { status: 204, body: '' }],
    ['its length', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhello', { status: 200, body: 'he' }],
  ])('with more behind %s is whole all the same', async (_, text, answer) => {
    const url = await raw((socket) => socket.once('data', () => socket.end(text)))
    expect(await send({ url })).toMatchObject({ response: { ...answer, truncated: false } })
  })
})

describe('where there is no answer, the error has the code of Node and words:', () => {
  test('nobody listens', async () => {
    const port = await freePort()
    expect(await send({ url: `http://127.0.0.1:${port}/` })).toEqual({
      error: { code: 'ECONNREFUSED', message: `connect ECONNREFUSED 127.0.0.1:${port}` },
    })
  })

  test('nobody listens on localhost, and each address that was tried is named', async () => {
    const port = await freePort()
    const lookup: HttpSenderOptions['lookup'] = (_host, _options, callback) =>
      callback(null, [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ])
    const { error } = await send({ url: `http://localhost:${port}/` }, { lookup })
    expect(error?.code).toBe('ECONNREFUSED')
    expect(error?.message).toBe(
      `connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED 127.0.0.2:${port}`,
    )
  })

  test('the connection is closed in the midst of the answer', async () => {
    const url = await raw((socket) =>
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')),
    )
    expect(await send({ url })).toMatchObject({
      error: { code: 'ECONNRESET', message: 'The connection was closed before there was a complete answer.' },
    })
  })

  test('the name is not known', async () => {
    const lookup: HttpSenderOptions['lookup'] = (host, _options, callback) =>
      callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }), [])
    expect(await send({ url: 'http://receiver.test/' }, { lookup })).toEqual({
      error: { code: 'ENOTFOUND', message: 'getaddrinfo ENOTFOUND receiver.test' },
    })
  })
})

describe('the time for an answer', () => {
  test('is over when it has not begun', async () => {
    const url = await serve(() => {})
    expect(await send({ url, timeoutMs: 30 })).toEqual({
      error: { code: 'timeout', message: 'There was no complete answer within 30 ms.' },
    })
  })

  test('[N112] is over when it has not ended, however much of it has come', async () => {
    const url = await serve((_, response) => {
      const timer = setInterval(() => response.write('more '), 5)
      response.on('close', () => clearInterval(timer))
    })
    expect(await send({ url, timeoutMs: 60 })).toMatchObject({ error: { code: 'timeout' } })
  })

  test('[N112] is without end where it is 0', async () => {
    const url = await serve((_, response) => void setTimeout(() => response.end('late'), 100))
    expect(await send({ url, timeoutMs: 0 })).toMatchObject({ response: { body: 'late' } })
  })

  test('may be longer than a timer can wait', async () => {
    const url = await serve((_, response) => void setTimeout(() => response.end('late'), 20))
    expect(await send({ url, timeoutMs: 2 ** 40 })).toMatchObject({ response: { body: 'late' } })
  })
})

describe('an IPv6 address', () => {
  test('is one like any other', async (context) => {
    const server = createHttpServer((_, response) => response.end('here'))
    const listening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(0, '::1', () => resolve(true))
    })
    if (!listening) return context.skip()
    try {
      const { port } = server.address() as AddressInfo
      expect(await send({ url: `http://[::1]:${port}/` })).toMatchObject({ response: { body: 'here' } })
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })
})

describe('the ports that fetch refuses', () => {
  test('are ports like any other', async (context) => {
    const server = createHttpServer((_, response) => response.end('here'))
    const listening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(10_080, '127.0.0.1', () => resolve(true))
    })
    if (!listening) return context.skip()
    try {
      expect(await send({ url: 'http://127.0.0.1:10080/' })).toMatchObject({ response: { body: 'here' } })
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })
})
