import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { expect, onTestFinished, test } from 'vitest'
import { readJson } from '../../http/body.js'
import type { Env } from '../../http/context.js'
import { HttpError, statusOf } from '../../http/errors.js'
import { type Listening, listen } from '../../http/server.js'

/** Before anything was served. */
const BEFORE = { Request: globalThis.Request, Response: globalThis.Response }

function demo() {
  const app = new Hono<Env>()
  const ends: string[] = []
  app.get('/', (c) => c.text('here'))
  app.post('/body', async (c) => c.json(Object.keys((await readJson(c.req.raw, { required: true })) ?? {})))
  app.get('/stream', (c) =>
    streamSSE(c, async (stream) => {
      const ended = new Promise<void>((resolve) => stream.onAbort(resolve))
      await stream.writeSSE({ data: 'hello' })
      await ended
      ends.push('aborted')
    }),
  )
  app.onError((error, c) =>
    error instanceof HttpError
      ? c.json({ code: error.code }, statusOf(error.code))
      : c.text(String(error), 500),
  )
  return { app, ends }
}

async function listening(at: Parameters<typeof listen>[1] = {}) {
  const { app, ends } = demo()
  const server = await listen(app, at)
  onTestFinished(() => server.close())
  return { server, ends }
}

test.each([
  [undefined, '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['localhost', 'localhost'],
])('at %s, it takes a free port, and is called %s', async (host, name) => {
  const { server } = await listening({ host })
  expect(server.port).toBeGreaterThan(0)
  expect(server.url).toBe(`http://${name}:${server.port}`)
  expect(await (await fetch(server.url)).text()).toBe('here')
})

test('leaves the globals as they are', async () => {
  const { server } = await listening()
  await fetch(server.url)
  expect(globalThis.Request).toBe(BEFORE.Request)
  expect(globalThis.Response).toBe(BEFORE.Response)
})

test('says what to do where the port is taken', async () => {
  const { server } = await listening()
  await expect(listen(demo().app, { port: server.port })).rejects.toMatchObject({
    message: `Port ${server.port} is taken: perhaps a sandbox runs already. Stop what uses it, or choose another one (--port 0 takes any that is free).`,
    cause: { code: 'EADDRINUSE' },
  })
})

test('closes with a stream open, ends the stream, and frees the port', async () => {
  const { server, ends } = await listening()
  const stream = await fetch(`${server.url}/stream`)
  const reader = stream.body?.getReader()
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: hello\n\n')

  await server.close()
  await expect(reader?.read()).rejects.toThrow()
  expect(ends).toEqual(['aborted'])
  const other = createServer().listen(server.port, '127.0.0.1')
  await once(other, 'listening')
  expect((other.address() as AddressInfo).port).toBe(server.port)
  other.close()
})

test('closes with a request that never ends, and with a connection that says nothing', async () => {
  const { server } = await listening()
  const half = connect(server.port, '127.0.0.1').on('error', () => {})
  half.write(
    'POST /body HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a"',
  )
  const silent = connect(server.port, '127.0.0.1').on('error', () => {})
  await once(silent, 'connect')
  await Promise.all([server.close(), ended(half), ended(silent)])
  await server.close()
})

/** Reset or closed: it is over. */
function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

/** Sends a body without a length, as much as is taken of it, and gives the answer. */
function sendChunks(
  { port }: Listening,
  chunks: number,
): Promise<{ status: number; body: string; written: number }> {
  return new Promise((resolve, reject) => {
    const sender = request({ port, host: '127.0.0.1', path: '/body', method: 'POST' })
    sender.setHeader('content-type', 'application/json')
    const chunk = Buffer.alloc(64 * 1024, ' ')
    let written = 0
    sender.on('error', reject)
    sender.on('response', async (response) => {
      let body = ''
      for await (const part of response) body += part
      resolve({ status: response.statusCode ?? 0, body, written })
      sender.destroy()
    })
    sender.write('{"a":1}')
    const write = (): void => {
      while (written < chunks) {
        written += 1
        if (!sender.write(chunk)) {
          sender.once('drain', write)
          return
        }
      }
      sender.end()
    }
    write()
  })
}

test('[N20] answers 413 to what has no length and does not end, and reads on with others', async () => {
  const { server } = await listening()
  const { status, body, written } = await sendChunks(server, 100_000)
  expect([status, JSON.parse(body)]).toEqual([413, { code: 'body_too_large' }])
  expect(written).toBeLessThan(1000)
  expect(await sendChunks(server, 15)).toMatchObject({ status: 200, body: '["a"]' })
  expect(await sendChunks(server, 17)).toMatchObject({ status: 413 })
})
