import { writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../../test/support/free-port.js'
import { candidates, SANDBOX_FILE } from '../../../cli/client/find-sandbox.js'
import { request } from '../../../cli/client/request.js'
import type { Io } from '../../../cli/io.js'
import { begin, cliRefusalOf, emptyFolder, isEvent, listening, type Ran, run } from '../../support/cli.js'

/** The status by which a sandbox identifies itself. */
const STATUS = {
  name: 'tix-webhooks sandbox',
  version: '0.1.0',
  url: 'http://sandbox',
  folder: '/nowhere',
  clock: {
    now: '2031-05-01T12:00:00.000Z',
    frozen: true,
    next_at: null,
    real_now: '2031-05-01T12:00:00.000Z',
  },
  counts: { test: {}, live: {} },
  deliveries: {},
  endpoints: 0,
  assumptions: {},
}

/** Answers every request like this. */
const answering =
  (body: object | string, status = 200): RequestListener =>
  (_request, response) =>
    void response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))

/** A sandbox that answers its status, and fails every other request. */
const failing =
  (handle: RequestListener): RequestListener =>
  (request, response) =>
    request.url === '/_sandbox' ? answering(STATUS)(request, response) : handle(request, response)

/** Something that answers, and a command that takes it for a sandbox. */
async function against(handle: RequestListener, ...argv: string[]): Promise<Ran & { url: string }> {
  const { origin } = new URL((await listening(handle)).url)
  return { ...(await run([...argv, '--sandbox', origin])), url: origin }
}

describe('a command that needs a sandbox', () => {
  test('says where it looked and what to start, where nothing listens', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    expect(await run(`status --sandbox ${url}`)).toMatchObject({
      code: 3,
      stdout: '',
      stderr: `No sandbox is running at ${url} (--sandbox). Start one with: tix-webhooks sandbox\n`,
    })
  })

  test.each<[string, RequestListener, RegExp]>([
    ['a page', answering('<html>'), /it answers 200 to GET \/_sandbox/],
    ['another JSON', answering({ name: 'vite', version: '7' }, 404), /it answers 404/],
    ['null', answering('null'), /it answers 200/],
    [
      'a refusal',
      answering({ error: { code: 'host_refused', message: 'Not my name.' } }, 403),
      /\(--sandbox\): Not my name\. Name yours/,
    ],
  ])('says what is there instead: %s', async (_case, handle, message) => {
    const { code, stderr, url } = await against(handle, 'status')
    expect(code).toBe(3)
    expect(stderr).toContain(`Something other than a sandbox is at ${url} (--sandbox): `)
    expect(stderr).toMatch(message)
  })

  test('works with one of the same line of versions only', async () => {
    expect((await against(answering({ ...STATUS, version: '0.1.9' }), 'status')).code).toBe(0)
    const other = await against(answering({ ...STATUS, version: '0.2.0' }), 'status')
    expect(other.code).toBe(3)
    expect(other.stderr).toContain('is version 0.2.0, and this command is 0.1.0: run both from the same')
  })

  test('reports a sandbox that ends meanwhile', async () => {
    const { code, stderr, url } = await against(
      failing((request) => request.socket.destroy()),
      'advance',
      '1h',
    )
    expect({ code, stderr }).toEqual({ code: 3, stderr: `The sandbox at ${url} is gone: ECONNRESET.\n` })
  })

  test.each<[RequestListener, number, string]>([
    [answering({ error: { code: 'x', message: 'Not that way.' } }, 400), 2, 'Not that way.'],
    [answering('oops', 500), 1, 'The sandbox answered 500.'],
  ])('passes on what the sandbox refuses', async (handle, code, message) => {
    const ran = await against(failing(handle), 'reset')
    expect(ran).toMatchObject({ code, stderr: expect.stringContaining(message) })
  })

  test('can be aborted while it waits for the sandbox', async () => {
    const stopped = new AbortController()
    const { url } = await listening(failing(() => stopped.abort()))
    const argv = ['advance', '72h', '--sandbox', new URL(url).origin]
    expect((await run(argv, { signal: stopped.signal })).code).toBe(130)
  })
})

const DEFAULT = { url: 'http://127.0.0.1:4010', source: 'the default port' }

/** The places where a command looks, in a folder with this in the file of a sandbox. */
function placesOf(file: string, env: Record<string, string> = {}, flag?: string): readonly object[] {
  const cwd = emptyFolder()
  writeFileSync(join(cwd, SANDBOX_FILE), file)
  return candidates(flag, { env, cwd: () => cwd } as Partial<Io> as Io)
}

describe('a sandbox is looked for', () => {
  const FILE = '{"url":"http://127.0.0.1:1"}'

  test('where the flag says, else where the environment says, and nowhere else', () => {
    const [other, flag] = ['http://127.0.0.1:2', 'http://127.0.0.1:3']
    const env = { TIX_SANDBOX_URL: other }
    expect(placesOf(FILE, env, flag)).toEqual([{ url: flag, source: '--sandbox', isUserNamed: true }])
    expect(placesOf(FILE, env)).toEqual([{ url: other, source: 'TIX_SANDBOX_URL', isUserNamed: true }])
    expect(placesOf(FILE, env, 'none')).toEqual([])
    expect(placesOf(FILE, { TIX_SANDBOX_URL: 'none' })).toEqual([])
  })

  test('else where the file of the folder says, then at the default port', () => {
    const place = { url: 'http://127.0.0.1:1', source: SANDBOX_FILE, isFromFile: true }
    expect(placesOf(FILE, { TIX_SANDBOX_URL: '' })).toEqual([place, DEFAULT])
  })

  test.each([
    ['is no JSON', '{"url"'],
    ['is null', 'null'],
    ['names no URL', '{"url":"x"}'],
    ['names a machine that is called like this one', '{"url":"http://127.0.0.1.example.com"}'],
    ['names no machine', '{"url":"file://localhost/x"}'],
    ['names another protocol', '{"url":"https://127.0.0.1:1"}'],
  ])('only at the default port where the file %s', (_, file) => {
    expect(placesOf(file)).toEqual([DEFAULT])
  })

  test('not at all if the environment variable is invalid', async () => {
    expect(await cliRefusalOf(() => placesOf('null', { TIX_SANDBOX_URL: '127.0.0.1:4010' }))).toEqual({
      exitCode: 2,
      message:
        'TIX_SANDBOX_URL "127.0.0.1:4010" is not an http or https URL. Did you mean http://127.0.0.1:4010?',
    })
  })
})

/** Does this with each connection, once a request has come. */
async function raw(answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => answer(socket))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const saying =
  (text: string) =>
  (socket: Socket): void =>
    void socket.end(text)

const get = (url: string, answerMs?: number) =>
  request({ method: 'GET', url, silenceMs: 10_000, ...(answerMs !== undefined && { answerMs }) })

const SWITCHES = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'

describe('a server that answers', () => {
  test.each<[string, (socket: Socket) => void, string]>([
    ['101', (socket) => socket.write(SWITCHES), 'EPROTO'],
    ['a status below 100', saying('HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n'), 'EPROTO'],
    ['nothing, and hangs up', saying(''), 'ECONNRESET'],
    ['half of a head, and hangs up', saying('HTTP/1.1 200'), 'ECONNRESET'],
    ['less than it said', saying('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}'), 'ECONNRESET'],
  ])('%s gives no answer', async (_, answer, code) => {
    await expect(get(await raw(answer))).rejects.toMatchObject({ code })
  })

  test.each([
    ['a 204 with a body', 'HTTP/1.1 204 No Content\r\n\r\nDeleted', 204],
    ['more than it said', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokay', 200],
  ])('%s gives one', async (_, text, status) => {
    expect(await get(await raw(saying(text)))).toMatchObject({ status })
  })

  test('for ever is given up', async () => {
    const url = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const timer = setInterval(() => socket.write('x'), 5)
      socket.on('close', () => clearInterval(timer))
    })
    await expect(get(url, 50)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  })

  test('nothing is no sandbox, and a 502 of listen, which goes on', async () => {
    const there = await raw(saying(''))
    expect((await run('status', { env: { TIX_SANDBOX_URL: there } })).code).toBe(3)
    const listener = begin(['listen', '--forward-to', there])
    const { url } = await listener.record(isEvent('listening'))
    for (const _time of ['first', 'second']) {
      expect((await fetch(String(url), { method: 'POST', body: '{}' })).status).toBe(502)
    }
  })
})
