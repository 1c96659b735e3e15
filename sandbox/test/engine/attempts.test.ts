import { type SignatureOptions, verifyWebhook } from 'tix-webhooks'
import { sampleEvent } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../../test/support/deliveries.js'
import type { Send } from '../../engine/network/send.js'
import { engineFixture, START_MS, verifiesPlainly } from '../support/engine-fixture.js'
import { HOUR_MS } from '../support/ticketing.js'

test('[S5] [S84] [S88] [N104] [N117] a request is a POST of the signed body, and is recorded with its answer', async () => {
  const answer = () => new Response('thanks', { status: 202, headers: { 'X-Answer': 'some' } })
  const { publish, clock, received, at } = engineFixture({ answer })
  const data = { event: { id: 'evt_1', title: 'Ünïcödé \u2028 🎟' } }
  const id = publish('event.published', data)
  await clock.idle()
  const body = JSON.stringify({ type: 'event.published', created_at: '2031-03-01T09:00:00.000Z', data })
  const headers = {
    'content-type': 'application/json',
    'x-service-signature': expect.stringMatching(/^t=\d{10},v1=[0-9a-f]{64}$/),
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'tix-webhooks-sandbox',
  }
  const url = 'http://localhost:3000/hooks'
  expect(received).toMatchObject([{ url, headers, body }])
  expect(at(id).message.body).toBe(body)
  expect(at(id).attempts).toMatchObject([
    {
      virtualMs: START_MS,
      realMs: expect.closeTo(Date.now(), -5),
      requestHeaders: headers,
      response: { status: 202, headers: { 'x-answer': 'some' }, body: 'thanks', truncated: false },
    },
  ])
})

test('[S85] [N105] [N106] [N124] the 11 attempts send the same bytes, each with a new signature of the real time', async () => {
  const { publish, clock, received, at } = engineFixture({ answer: () => 503 })
  const event = sampleEvent('order.created')
  const id = publish(event.type, event.data)
  await clock.advanceBy(72 * HOUR_MS)
  expect(received).toHaveLength(11)
  for (const { body, header } of received) {
    expect(body).toBe(at(id).message.body)
    expect(verifiesPlainly(body, header, [SECRET])).toBe(true)
    const read = await verifyWebhook(body, header, { secret: SECRET, toleranceSeconds: 5 })
    expect(read).toEqual({ ...event, created_at: '2031-03-01T09:00:00.000Z' })
  }
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
  test.each<[string, SignatureOptions]>([
    ['without the dot', { signedContent: 'concat' }],
    ['of the body alone', { signedContent: (_t, body) => body }],
    ['in ms, in another header, in base64', { timestampUnit: 'ms', header: 'X-Other', encoding: 'base64' }],
  ])('[N108] may be another one: %s', async (_, signature) => {
    const { publish, clock, received } = engineFixture({ signature })
    publish()
    await clock.idle()
    const { body = '', headers = {} } = received[0] ?? {}
    const header = headers[(signature.header ?? 'x-service-signature').toLowerCase()]
    await verifyWebhook(body, header, { secret: SECRET, signature })
  })
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
