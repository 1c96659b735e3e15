import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { freePort } from './free-port.js'
import { startProxy, type TcpProxy } from './tcp-proxy.js'

/** A server that answers each chunk in upper case, and records them. */
const heard: string[] = []
const served: Socket[] = []
const server = createServer({ allowHalfOpen: true }, (socket) => {
  served.push(socket)
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    heard.push(`${chunk}`)
    socket.write(`${chunk}`.toUpperCase())
  })
  socket.on('end', () => socket.end('BYE'))
})

let proxy: TcpProxy
const clients: Socket[] = []

let serverPort: number

beforeAll(async () => {
  serverPort = await freePort()
  server.listen(serverPort, '127.0.0.1')
  await once(server, 'listening')
})

beforeEach(async () => {
  proxy = await startProxy({ port: serverPort })
  heard.length = 0
  served.length = 0
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await proxy.close()
})

afterAll(() => {
  server.close()
})

interface Client {
  readonly socket: Socket
  /** Sends, and waits for this many bytes of answer. */
  ask(question: string): Promise<string>
  /** All bytes so far. */
  received(): string
  /** All bytes, once the connection is closed. */
  readonly all: Promise<string>
}

async function dial(port = proxy.port): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
  clients.push(socket)
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('end', () => socket.end())
  await once(socket, 'connect')
  socket.on('error', () => {})
  const all = once(socket, 'close').then(() => received)
  return {
    socket,
    all,
    received: () => received,
    async ask(question) {
      const from = received.length
      socket.write(question)
      while (received.length < from + question.length) await once(socket, 'data')
      return received.slice(from)
    },
  }
}

test('a proxy passes everything, and counts it', async () => {
  const [one, other] = [await dial(), await dial()]
  expect(await one.ask('a')).toBe('A')
  expect(await one.ask('bc')).toBe('BC')
  expect(await other.ask('d')).toBe('D')
  expect(proxy).toMatchObject({ connections: 2, roundTrips: 3, bytes: { fromClient: 4, fromServer: 4 } })
})

test('what a client sends before an answer is one round trip', async () => {
  const { socket, ask } = await dial()
  await ask('a')
  proxy.hold()
  const first = proxy.nextRequest()
  const second = proxy.nextRequest((chunk) => chunk.includes('c'))
  const answer = ask('b')
  await first
  socket.write('c')
  await second
  proxy.flush()
  expect(await answer).toMatch(/^B/)
  expect(proxy.roundTrips).toBe(2)
})

test('a client that says that it has finished still gets its answer', async () => {
  const { socket, all } = await dial()
  socket.end('last')
  expect(await all).toBe('LASTBYE')
})

test('a refusing proxy cuts what is open and takes nothing new, until it passes again', async () => {
  const { all, ask } = await dial()
  await ask('a')
  await proxy.refuse()
  expect(await all).toBe('A')
  await expect(dial()).rejects.toThrow('ECONNREFUSED')
  await proxy.pass()
  expect(await (await dial()).ask('b')).toBe('B')
})

test('held bytes stay where they are, from either side, and then arrive in order, with closing after them', async () => {
  const { socket, all, ask, received } = await dial()
  await ask('a')
  const direct = await dial(serverPort)
  proxy.hold()
  served[0]?.write('news')
  const requests = ['b', 'c'].map((text) => proxy.nextRequest((chunk) => chunk.includes(text)))
  socket.write('b')
  await requests[0]
  socket.end('c')
  await requests[1]
  // Everything that is not held back has long arrived when these are answered.
  for (const text of ['x', 'y', 'z']) await direct.ask(text)
  expect(heard.splice(0)).toEqual(['a', 'x', 'y', 'z'])
  expect(received()).toBe('A')
  proxy.flush()
  expect(await all).toBe('AnewsBCBYE')
  expect(heard.join('')).toBe('bc')
})

test('a black hole accepts and answers nothing; who fell into it is cut when it ends, others stay', async () => {
  const [open, lost] = [await dial(), await dial()]
  await open.ask('a')
  await lost.ask('b')
  proxy.blackHole()
  const late = await dial()
  for (const { socket } of [lost, late]) {
    const swallowed = proxy.nextRequest()
    socket.write('x')
    await swallowed
  }
  await proxy.pass()
  expect(await lost.all).toBe('B')
  expect(await late.all).toBe('')
  expect(await open.ask('c')).toBe('C')
  expect(heard).toEqual(['a', 'b', 'c'])
})

test('a lost reply: the server has done it, the client is cut without an answer, others go on', async () => {
  const [one, other] = [await dial(), await dial()]
  await one.ask('begin')
  const lost = proxy.cutAfterRequest((chunk) => chunk.includes('commit'))
  expect(await one.ask('insert')).toBe('INSERT')
  one.socket.write('commit')
  await lost
  expect(heard).toEqual(['begin', 'insert', 'commit'])
  expect(await one.all).toBe('BEGININSERT')
  expect(await other.ask('commit')).toBe('COMMIT')
})

test('one request is lost, and the connection with it', async () => {
  const [one, other] = [await dial(), await dial()]
  const lost = proxy.cutBeforeRequest((chunk) => chunk.includes('commit'))
  expect(await one.ask('insert')).toBe('INSERT')
  one.socket.write('commit')
  await lost
  expect(await one.all).toBe('INSERT')
  expect(await other.ask('commit')).toBe('COMMIT')
  expect(heard).toEqual(['insert', 'commit'])
})

test('the most connections that waited for a reply at the same time are counted', async () => {
  const [one, other] = [await dial(), await dial()]
  await one.ask('a')
  await other.ask('b')
  expect(proxy.mostBusy).toBe(1)
  proxy.hold()
  const both = ['c', 'd'].map((text) => proxy.nextRequest((chunk) => chunk.includes(text)))
  one.socket.write('c')
  other.socket.write('d')
  await Promise.all(both)
  expect(proxy.mostBusy).toBe(2)
  proxy.resetMostBusy()
  expect(proxy.mostBusy).toBe(0)
})

test('cut connections are gone, new ones pass', async () => {
  const { all } = await dial()
  proxy.cut()
  expect(await all).toBe('')
  expect(await (await dial()).ask('a')).toBe('A')
})

test('a proxy before nothing accepts and hangs up', async () => {
  const before = await startProxy({ port: await freePort() })
  try {
    const socket = connect({ port: before.port, host: '127.0.0.1' }).resume()
    await once(socket, 'close')
    expect(before.connections).toBe(1)
  } finally {
    await before.close()
  }
})

test('a closed proxy is not there any more', async () => {
  const { all } = await dial()
  await proxy.close()
  expect(await all).toBe('')
  await expect(dial()).rejects.toThrow('ECONNREFUSED')
})
