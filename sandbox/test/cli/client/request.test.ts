import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { request } from '../../../cli/client/request.js'
import { begin, isEvent, run } from '../../support/cli.js'

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

const NO_ANSWERS: readonly (readonly [string, (socket: Socket) => void])[] = [
  [
    '101',
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  ],
  ['a status below 100', saying('HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n')],
  ['nothing, and hangs up', saying('')],
  ['half of a head, and hangs up', saying('HTTP/1.1 200')],
  ['less than it said', saying('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}')],
]

describe('a server that answers', () => {
  test.each(NO_ANSWERS)('%s is no sandbox: exit code 3', async (_, answer) => {
    const url = await raw(answer)
    const { code, stderr } = await run('status', { env: { TIX_SANDBOX_URL: url } })
    expect(code).toBe(3)
    expect(stderr).toContain(url)
  })

  test.each([
    ...NO_ANSWERS.map(([what, answer]) => [what, answer, 502] as const),
    ['a 204 with a body', saying('HTTP/1.1 204 No Content\r\n\r\nDeleted'), 204] as const,
    ['more than it said', saying('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokay'), 200] as const,
  ])('%s gets an answer from listen, which goes on', async (_, answer, status) => {
    const listener = begin(['listen', '--forward-to', await raw(answer)])
    const { url } = await listener.record(isEvent('listening'))
    const answers = [await fetch(String(url), { method: 'POST', body: '{}' })]
    // It goes on.
    answers.push(await fetch(String(url), { method: 'POST', body: '{}' }))
    expect(answers.map((one) => one.status)).toEqual([status, status])
  })

  test('for ever is given up', async () => {
    const url = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const timer = setInterval(() => socket.write('x'), 5)
      socket.on('close', () => clearInterval(timer))
    })
    await expect(request({ method: 'GET', url, silenceMs: 10_000, answerMs: 50 })).rejects.toMatchObject({
      code: 'ETIMEDOUT',
    })
  })
})
