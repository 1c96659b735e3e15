import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Deliver, inProcessSender } from '../../../engine/network/in-process-sender.js'
import type { OutgoingRequest } from '../../../engine/network/send.js'

const REQUEST: OutgoingRequest = {
  url: 'http://receiver.test/hooks?a=b',
  headers: {
    'content-type': 'application/json',
    'content-length': '15',
    'x-service-signature': 't=1,v1=a',
  },
  body: Buffer.from('{"some":"body"}'),
  timeoutMs: 5000,
}

const send = (deliver: Deliver, request: Partial<OutgoingRequest> = {}) =>
  inProcessSender(deliver)({ ...REQUEST, ...request })

describe('a receiver in this process', () => {
  test('is given a request like any other, and its answer is recorded', async () => {
    const seen: unknown[] = []
    const result = await send(async (request) => {
      seen.push([request.method, request.url, Object.fromEntries(request.headers), await request.text()])
      const headers = [
        ['x-a', '1'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ] as [string, string][]
      return new Response('thanks', { status: 202, headers })
    })
    expect(seen).toEqual([
      [
        'POST',
        'http://receiver.test/hooks?a=b',
        { 'content-type': 'application/json', 'content-length': '15', 'x-service-signature': 't=1,v1=a' },
        '{"some":"body"}',
      ],
    ])
    expect(result).toEqual({
      response: {
        status: 202,
        headers: { 'content-type': 'text/plain;charset=UTF-8', 'x-a': '1', 'set-cookie': 'a=1, b=2' },
        body: 'thanks',
        truncated: false,
      },
    })
  })

  test('that answers at once leaves others their turn, under any clock', async () => {
    let isTheirTurn = false
    setImmediate(() => {
      isTheirTurn = true
    })
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const sendOne = inProcessSender(() => new Response(null, { status: 204 }))
    for (let count = 0; count < 200; count++) await sendOne(REQUEST)
    expect(isTheirTurn).toBe(true)
  })

  test.each(['whole', 'chunked', 'slow'] as const)('may be given an empty body: %s', async (transport) => {
    const bodies: string[] = []
    const deliver: Deliver = async (request) => {
      bodies.push(await request.text())
      return new Response(null)
    }
    expect(await send(deliver, { transport, body: new Uint8Array() })).toHaveProperty('response')
    expect(bodies).toEqual([''])
  })

  test('has its answer cut at 64 KiB, though it would go on for ever', async () => {
    let cancelled = false
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(Buffer.from('y'.repeat(1000))),
        cancel() {
          cancelled = true
        },
      })
    const { response } = await send(() => new Response(endless()), { timeoutMs: 0 })
    expect(response).toMatchObject({ body: 'y'.repeat(65_536), truncated: true })
    expect(cancelled).toBe(true)
  })
})

describe('a receiver in this process fails where', () => {
  test.each<[string, Deliver, string]>([
    [
      'it throws',
      () => {
        throw new Error('out of order')
      },
      'The receiver threw Error: out of order.',
    ],
    ['it rejects', () => Promise.reject(new TypeError('no')), 'The receiver threw TypeError: no.'],
    ['it throws no error', () => Promise.reject('text'), 'The receiver threw text.'],
    ['it gives nothing', () => undefined as never, 'The receiver returned no Response. Is a return missing?'],
    [
      'it gives something else',
      () => ({ ok: true }) as never,
      'The receiver returned no Response. Is a return missing?',
    ],
  ])('%s', async (_, deliver, message) => {
    expect(await send(deliver)).toEqual({ error: { code: 'receiver_threw', message } })
  })

  test('its answer was read already, or breaks off', async () => {
    const used = async () => {
      const response = new Response('x')
      await response.text()
      return response
    }
    expect(await send(used)).toMatchObject({ error: { code: 'receiver_threw' } })
    const broken = () =>
      new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('torn')) }))
    expect(await send(broken)).toEqual({
      error: { code: 'receiver_threw', message: 'The receiver threw Error: torn.' },
    })
  })

  test('it never answers: its time is over, and its request aborted', async () => {
    const signals: AbortSignal[] = []
    const never: Deliver = (request) => {
      signals.push(request.signal)
      return new Promise(() => {})
    }
    expect(await send(never, { timeoutMs: 20 })).toEqual({
      error: { code: 'timeout', message: 'The receiver did not answer within 20 ms.' },
    })
    expect(signals[0]?.aborted).toBe(true)
  })

  test('its answer never ends', async () => {
    let cancelled = false
    const endless = () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(Buffer.from('x')),
          cancel() {
            cancelled = true
          },
        }),
      )
    expect(await send(endless, { timeoutMs: 20 })).toMatchObject({ error: { code: 'timeout' } })
    await new Promise((resolve) => setImmediate(resolve))
    expect(cancelled).toBe(true)
  })
})
