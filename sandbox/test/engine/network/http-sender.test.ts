import type { LookupAddress } from 'node:dns'
import type { RequestListener } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../../test/support/free-port.js'
import { listen } from '../../../../test/support/http.js'
import { classOf } from '../../../engine/network/address-classes.js'
import { checkDestination } from '../../../engine/network/address-rules.js'
import { type HttpSenderOptions, httpSender } from '../../../engine/network/http-sender.js'
import type { OutgoingRequest } from '../../../engine/network/send.js'

async function serve(handler: RequestListener): Promise<string> {
  const server = await listen(handler)
  onTestFinished(() => server.close())
  return server.url
}

/** A server that answers with these bytes, and then closes the connection. */
const raw = (bytes: string): Promise<string> => serve((request) => void request.socket.end(bytes))

const send = (request: Partial<OutgoingRequest> & { url: string }, options?: HttpSenderOptions) =>
  httpSender(options)({
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{"some":"body"}'),
    timeoutMs: 5000,
    ...request,
  })

/** Sends a request, and returns how it arrived. */
async function arrival(request: Partial<OutgoingRequest> = {}) {
  const chunks: string[] = []
  let line = ''
  let headers: NodeJS.Dict<string | string[]> = {}
  const url = await serve(async (request, response) => {
    line = `${request.method} ${request.url}`
    headers = request.headers
    for await (const chunk of request) chunks.push(String(chunk))
    response.end()
  })
  expect(await send({ url: `${url}/hooks?a=1`, ...request })).toMatchObject({ response: { status: 200 } })
  expect(line).toBe('POST /hooks?a=1')
  return { chunks, headers }
}

const resolving =
  (...addresses: readonly string[]): NonNullable<HttpSenderOptions['lookup']> =>
  (_host, _options, callback) =>
    callback(
      null,
      addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
    )

describe('a body', () => {
  test('is sent whole, with its length, or in chunks without one, on a connection that is closed', async () => {
    const whole = await arrival()
    expect(whole.chunks).toEqual(['{"some":"body"}'])
    expect(whole.headers).toMatchObject({ 'content-length': '15', connection: 'close' })
    expect(whole.headers).not.toHaveProperty('transfer-encoding')
    const { chunks, headers } = await arrival({ transport: 'chunked', headers: { 'content-length': '15' } })
    expect(chunks.join('')).toBe('{"some":"body"}')
    expect(headers).toMatchObject({ 'transfer-encoding': 'chunked', connection: 'close' })
    expect(headers).not.toHaveProperty('content-length')
  })

  test('is sent slowly, in a few pieces, with its length', async () => {
    const startMs = performance.now()
    const { chunks, headers } = await arrival({ transport: 'slow' })
    expect(performance.now() - startMs).toBeGreaterThan(70)
    // If this process was held up, the system may have sent two together.
    expect(chunks.join('')).toBe('{"some":"body"}')
    expect(chunks.length).toBeGreaterThan(1)
    expect(headers['content-length']).toBe('15')
  })

  test('that is slow is not sent to its end if the answer comes first', async () => {
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
    ['a 204', '204 No Content\r\ncontent-length: 5', { status: 204, body: '' }],
    ['its length', '200 OK\r\ncontent-length: 2', { status: 200, body: 'he' }],
  ])('with more bytes after %s is complete nevertheless', async (_, head, answer) => {
    const url = await raw(`HTTP/1.1 ${head}\r\n\r\nhello`)
    expect(await send({ url })).toMatchObject({ response: { ...answer, truncated: false } })
  })
})

describe('without an answer, the error has a code of Node and a message, if', () => {
  test('nobody listens, at any of its addresses', async () => {
    const port = await freePort()
    const refused = (address: string) => `connect ECONNREFUSED ${address}:${port}`
    expect(await send({ url: `http://127.0.0.1:${port}/` })).toEqual({
      error: { code: 'ECONNREFUSED', message: refused('127.0.0.1') },
    })
    const addresses = ['127.0.0.1', '127.0.0.2']
    const lookup = resolving(...addresses)
    expect(await send({ url: `http://localhost:${port}/` }, { lookup })).toEqual({
      error: { code: 'ECONNREFUSED', message: addresses.map(refused).join('; ') },
    })
  })

  test('the connection is closed during the answer', async () => {
    const url = await raw('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')
    const message = 'The connection was closed before there was a complete answer.'
    expect(await send({ url })).toEqual({ error: { code: 'ECONNRESET', message } })
  })
})

describe('the time for an answer', () => {
  test('[N112] ends if it is not complete, however much of it has come', async () => {
    const url = await serve((_, response) => {
      const timer = setInterval(() => response.write('more '), 5)
      response.on('close', () => clearInterval(timer))
    })
    const message = 'There was no complete answer within 60 ms.'
    expect(await send({ url, timeoutMs: 60 })).toEqual({ error: { code: 'timeout', message } })
  })

  // A timer cannot wait for the second.
  test.each([0, 2 ** 40])('[N112] is unlimited with 0, and may be long: %d', async (timeoutMs) => {
    const url = await serve((_, response) => void setTimeout(() => response.end('late'), 50))
    expect(await send({ url, timeoutMs })).toMatchObject({ response: { body: 'late' } })
  })
})

/** Some of them in IPv6 that stands for IPv4: mapped, translated, NAT64, 6to4. */
const ADDRESSES = {
  local: `127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255
    ::1 fc00::1 fd12:3456:789a::1
    ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.1.2.3 64:ff9b::192.168.0.1 2002:0a01:0203::1`,
  public: `8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 192.167.255.255 100.63.255.255 100.128.0.1 198.18.0.1
    2606:4700:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1`,
  forbidden: `169.254.169.254 169.254.0.1 0.0.0.0 0.1.2.3 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    192.0.0.192 100.100.100.200 168.63.129.16
    :: fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1 fd00:ec2::254 fd20:ce::254 2001::1
    ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 ::ffff:0:169.254.169.254 64:ff9b::169.254.169.254
    64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe::1 ::ffff:0.0.0.0 no-address`,
}

test.each(
  Object.entries(ADDRESSES).flatMap(([kind, list]) => list.split(/\s+/).map((address) => [address, kind])),
)('[N133] [N134] [N135] [N137] the address %s is %s', (address, kind) => {
  expect(classOf(address)).toBe(kind)
})

test.each([
  ['http://0xa9.0xfe.0xa9fe/', /169\.254\.169\.254 is link-local/],
  ['http://2852039166/', /169\.254\.169\.254 is link-local/],
  ['http://0/', /0\.0\.0\.0 is link-local, multicast, unspecified/],
  ['http://0x08080808/', /8\.8\.8\.8 is a public address/],
  ['ftp://localhost/', /^Webhooks are sent over http and https only, not over ftp:\/\/\.$/],
  ['file:///etc/passwd', /^Webhooks are sent over http and https only/],
  ['http://me:secret@localhost/', /^The URL has a name or a password in it, which would be shown in logs/],
  ['http://me@localhost/', /^The URL has a name or a password in it/],
  ['localhost:3000', /^Webhooks are sent over http and https only, not over localhost:\/\/\.$/],
  ['/hooks', /^That is not a URL: give the whole address/],
  ['http://', /^That is not a URL/],
])('[N135] [N137] the URL %s is refused, and its password not shown', (url, message) => {
  const check = () => checkDestination(url)
  expect(check).toThrow(message)
  expect(check).toThrow(expect.objectContaining({ code: 'address_refused' }))
  expect(check).toThrow(expect.not.objectContaining({ message: expect.stringContaining('secret') }))
})

/** A receiver, and how often it was called. */
async function receiver() {
  const calls: string[] = []
  const url = await serve((request, response) => {
    calls.push(request.url ?? '')
    response.end()
  })
  return { calls, port: new URL(url).port }
}

const REFUSED = { error: { code: 'address_refused' } }

describe('a name', () => {
  test.each([
    ['[N134] a public', '93.184.216.34', false, 'is a public address, and nothing leaves this machine'],
    ['a link-local', '169.254.169.254', false, 'is link-local'],
    ['a link-local, though public ones are allowed', '169.254.169.254', true, 'is link-local'],
  ])('with %s address is refused', async (_, address, allowPublic, why) => {
    const options = { allowPublic, lookup: resolving(address) }
    const message = expect.stringContaining(`receiver.test is at ${address}, which ${why}`)
    const refused = { error: { code: 'address_refused', message } }
    expect(await send({ url: 'http://receiver.test/' }, options)).toEqual(refused)
  })

  test.each([
    [['127.0.0.1', '8.8.8.8']],
    [['8.8.8.8', '127.0.0.1']],
    [['127.0.0.1', '::ffff:169.254.169.254']],
    [['::1', '127.0.0.1', 'fe80::1']],
  ])('[N136] with several addresses is refused if one of them is: %j', async (addresses) => {
    const { calls, port } = await receiver()
    const lookup = resolving(...addresses)
    expect(await send({ url: `http://receiver.test:${port}/` }, { lookup })).toMatchObject(REFUSED)
    expect(calls).toEqual([])
  })

  test('[N133] [N136] is looked up once for each delivery, which goes to the address that was checked', async () => {
    const { calls, port } = await receiver()
    const places = ['127.0.0.1', '169.254.169.254', '8.8.8.8']
    const options: HttpSenderOptions = {
      lookup: (host, options, callback) => resolving(places.shift() ?? '')(host, options, callback),
    }
    const url = `http://receiver.test:${port}/hooks`
    const codes = []
    for (let count = 0; count < 3; count++) codes.push((await send({ url }, options)).error?.code)
    expect(codes).toEqual([undefined, 'address_refused', 'address_refused'])
    expect(calls).toEqual(['/hooks'])
  })
})

test.each([
  'http://8.8.8.8/',
  'http://[2606:4700:4700::1111]/',
  'http://169.254.169.254/latest/meta-data',
  'http://[::ffff:a9fe:a9fe]/',
])('the sender refuses the literal address %s, which is never looked up', async (url) => {
  const lookup = () => {
    throw new Error('It was looked up.')
  }
  expect(await send({ url }, { lookup })).toMatchObject(REFUSED)
})
