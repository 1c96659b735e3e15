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

  test('has an endless answer cut at 64 KiB', async () => {
    const cancel = vi.fn()
    const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(Buffer.alloc(1000, 'y'))
    const { response } = await send(() => new Response(new ReadableStream({ pull, cancel })), {
      timeoutMs: 0,
    })
    expect(response).toMatchObject({ body: 'y'.repeat(65_536), truncated: true })
    expect(cancel).toHaveBeenCalledOnce()
  })
})

describe('a receiver in this process fails if', () => {
  const thrower = (error: unknown) => () => {
    throw error
  }
  const torn = () =>
    new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('torn')) }))
  const noResponse = 'The receiver returned no Response. Is a return missing?'

  test.each<[string, unknown, string]>([
    ['it throws', thrower(new Error('out of order')), 'The receiver threw Error: out of order.'],
    ['it rejects', () => Promise.reject(new TypeError('no')), 'The receiver threw TypeError: no.'],
    ['it rejects with a text', () => Promise.reject('text'), 'The receiver threw text.'],
    ['it returns nothing', () => undefined, noResponse],
    ['it returns another object', () => ({ ok: true }), noResponse],
    ['its answer breaks off', torn, 'The receiver threw Error: torn.'],
  ])('%s', async (_, deliver, message) => {
    expect(await send(deliver as Deliver)).toEqual({ error: { code: 'receiver_threw', message } })
  })

  test('it does not answer in time: its request is aborted', async () => {
    // The requests, not their signals: Node ends a signal's link to its source when the request is collected.
    const requests: Request[] = []
    const never: Deliver = (request) => {
      requests.push(request)
      return new Promise(() => {})
    }
    const message = 'The receiver did not answer within 20 ms.'
    expect(await send(never, { timeoutMs: 20 })).toEqual({ error: { code: 'timeout', message } })
    expect(requests[0]?.signal.aborted).toBe(true)
  })

  test('its answer does not end in time: it is cancelled', async () => {
    const cancel = vi.fn()
    const start = (controller: ReadableStreamDefaultController) => controller.enqueue(Buffer.from('x'))
    const endless = () => new Response(new ReadableStream({ start, cancel }))
    expect(await send(endless, { timeoutMs: 20 })).toMatchObject({ error: { code: 'timeout' } })
    await new Promise((resolve) => setImmediate(resolve))
    expect(cancel).toHaveBeenCalledOnce()
  })
})
