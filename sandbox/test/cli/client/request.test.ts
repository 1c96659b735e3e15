import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { request } from '../../../cli/client/request.js'
import { run } from '../../support/cli.js'
import { begin, isEvent } from '../../support/cli-session.js'

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
