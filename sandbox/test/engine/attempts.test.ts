import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { verifyWebhook } from 'tix-webhooks'
import { sampleEvent } from 'tix-webhooks/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { SECRET } from '../../../test/support/deliveries.js'
import { type Listening, listen } from '../../../test/support/http.js'
import { httpSender } from '../../engine/network/http-sender.js'
import type { Send } from '../../engine/network/send.js'
import { type EngineFixtureOptions, engineFixture, HOUR_MS, START_MS } from '../support/engine-fixture.js'
import { verifiesPlainly } from '../support/plain-verifier.js'

interface Seen {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const servers: Listening[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

/** A receiver on a real socket, and an engine that delivers to it. */
async function onSocket(reply: (response: ServerResponse) => void, options: EngineFixtureOptions = {}) {
  const seen: Seen[] = []
  const server = await listen(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method, url, headers } = request
    seen.push({ method, path: url, headers, body: Buffer.concat(chunks).toString() })
    reply(response)
  })
  servers.push(server)
  const url = `${server.url}/hooks`
  const fixture = engineFixture({ send: httpSender(), endpoints: [{ url, secret: SECRET }], ...options })
  return { ...fixture, seen, url }
}

const signatureOf = ({ headers }: Seen): string => String(headers['x-service-signature'])

describe('a request', () => {
  test('[S5] [S84] [S88] [N104] is a POST of the very bytes, with the four headers that the service is known to send, and what HTTP needs', async () => {
    const { publish, clock, seen, at } = await onSocket((response) => void response.end())
    const data = { event: { id: 'evt_1', title: 'Ünïcödé \u2028 🎟' } }
    const id = publish('event.published', data)
    await clock.idle()
    const body = JSON.stringify({ type: 'event.published', created_at: '2031-03-01T09:00:00.000Z', data })
    expect(seen).toMatchObject([{ method: 'POST', path: '/hooks', body }])
    expect(seen[0]?.headers).toEqual({
      'content-type': 'application/json',
      'x-service-signature': expect.stringMatching(/^t=\d{10},v1=[0-9a-f]{64}$/),
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': 'tix-webhooks-sandbox',
      connection: 'close',
      host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    })
    expect(at(id)).toMatchObject({ message: { body }, attempts: [{ trigger: 'auto', number: 1 }] })
  })

  test('[N117] is recorded with its answer', async () => {
    const { publish, clock, at, url } = await onSocket((response) => {
      response.writeHead(202, { 'X-Answer': 'some', 'Set-Cookie': ['a=1', 'b=2'] }).end('thanks')
    })
    const id = publish()
    await clock.idle()
    const [attempt] = at(id).attempts
    expect(attempt).toMatchObject({
      id: expect.stringMatching(/^att_/),
      number: 1,
      trigger: 'auto',
      virtualMs: START_MS,
      url,
      requestHeaders: { 'content-type': 'application/json', 'user-agent': 'tix-webhooks-sandbox' },
      response: {
        status: 202,
        headers: { 'x-answer': 'some', 'set-cookie': 'a=1, b=2' },
        body: 'thanks',
        truncated: false,
      },
    })
    expect(Math.abs((attempt?.realMs ?? 0) - Date.now())).toBeLessThan(10_000)
    expect(attempt?.durationMs).toBeGreaterThanOrEqual(0)
    expect(attempt).not.toHaveProperty('hint')
    expect(attempt).not.toHaveProperty('error')
    expect(attempt).not.toHaveProperty('sentBody')
  })
})

describe('72 hours', () => {
  test('[S85] [N105] [N106] [N124] are 11 attempts with the same bytes, each with a new signature of the real time', async () => {
    const { publish, clock, seen, at } = await onSocket((response) => response.writeHead(503).end())
    const event = sampleEvent('order.created')
    const id = publish(event.type, event.data)
    await clock.advanceBy(72 * HOUR_MS)

    expect(at(id)).toMatchObject({ status: 'failed' })
    expect(seen).toHaveLength(11)
    expect(new Set(seen.map(({ body }) => body))).toEqual(new Set([at(id).message.body]))
    for (const one of seen) {
      expect(verifiesPlainly(one.body, signatureOf(one), [SECRET])).toBe(true)
      const read = await verifyWebhook(one.body, signatureOf(one), { secret: SECRET, toleranceSeconds: 5 })
      expect(read).toEqual({ ...event, created_at: '2031-03-01T09:00:00.000Z' })
    }
  })
})

test('[N112] an endpoint has 15 seconds by default', async () => {
  const timeouts: number[] = []
  const send: Send = async ({ timeoutMs }) => {
    timeouts.push(timeoutMs)
    return { response: { status: 200, headers: {}, body: '', truncated: false } }
  }
  for (const options of [{}, { timeoutSeconds: 0 }, { timeoutSeconds: 1.5 }]) {
    const { publish, clock } = engineFixture({ send, ...options })
    publish()
    await clock.idle()
  }
  expect(timeouts).toEqual([15_000, 0, 1500])
})

describe('the signature', () => {
  test('is of the virtual time if the receiver has that clock', async () => {
    const { publish, clock, seen } = await onSocket((response) => response.writeHead(500).end(), {
      signingNow: () => clock.now(),
      jitter: 0,
    })
    publish()
    await clock.advanceBy(5000)
    const times = seen.map((one) => Number(/t=(\d+)/.exec(signatureOf(one))?.[1]))
    expect(times).toEqual([START_MS / 1000, START_MS / 1000 + 5])
    for (const one of seen) expect(verifiesPlainly(one.body, signatureOf(one), [SECRET])).toBe(true)
  })

  test.each([
    ['without the dot', { signedContent: 'concat' as const }],
    ['of the body alone', { signedContent: (_t: string, body: Uint8Array) => body }],
    [
      'in milliseconds, in another header, in base64',
      { timestampUnit: 'ms' as const, header: 'X-Other', encoding: 'base64' as const },
    ],
  ])('[N108] may be another one: %s', async (_, signature) => {
    const { publish, clock, seen } = await onSocket((response) => void response.end(), { signature })
    publish()
    await clock.idle()
    const [one] = seen
    const header = one?.headers['header' in signature ? 'x-other' : 'x-service-signature']
    await verifyWebhook(one?.body ?? '', String(header), { secret: SECRET, signature })
  })
})

test('[N109] a redirect is a failure that is not followed, and the hint names its target', async () => {
  const { publish, clock, seen, at, url } = await onSocket((response) => {
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  const id = publish()
  await clock.idle()
  expect(seen.map(({ path }) => path)).toEqual(['/hooks'])
  const hint = `Redirects are not followed: set the endpoint's URL to ${new URL('/elsewhere', url)}.`
  expect(at(id)).toMatchObject({ status: 'retrying', attempts: [{ response: { status: 307 }, hint }] })
})

test('[N97] messages that are made at the same moment are created a millisecond apart', async () => {
  const { engine, clock } = engineFixture()
  const times = Array.from(
    { length: 5 },
    () => engine.publish({ mode: 'test', type: 'a', data: {} }).createdAt,
  )
  expect(times.map((time) => Date.parse(time) - START_MS)).toEqual([0, 1, 2, 3, 4])
  await clock.advanceBy(10)
  const later = engine.publish({ mode: 'live', type: 'a', data: {} })
  expect(Date.parse(later.createdAt)).toBe(START_MS + 10)
  expect(JSON.parse(later.body)).toEqual({ type: 'a', created_at: later.createdAt, data: {} })
})
