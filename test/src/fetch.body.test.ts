import type { WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../support/deliveries.js'
import { answerOf, requestOf, streamedRequest } from '../support/fetching.js'
import type { HttpAnswer } from '../support/http.js'
import { deferred, never } from '../support/promises.js'
import { type Watched, watched } from '../support/watched.js'

const HANDLED = { status: 200, text: '{"outcome":"handled"}' }

/** The handler, and everything that it reports. */
function mounted(overrides: Partial<WebhookOptions> = {}): Watched & {
  send(request: Request): Promise<HttpAnswer>
} {
  const seen = watched(overrides)
  const handle = tixWebhooks(seen.options)
  return { ...seen, send: async (request) => answerOf(await handle(request)) }
}

/** A body of these chunks, which then ends or hangs; and its later state. */
function source(chunks: readonly Uint8Array[], then: 'end' | 'hang' = 'end') {
  const cancelled = vi.fn()
  const hanging = deferred()
  let sent = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = chunks[sent]
        sent += 1
        if (next !== undefined) return controller.enqueue(next)
        if (then === 'end') return controller.close()
        hanging.resolve()
        return never()
      },
      cancel: cancelled,
    },
    { highWaterMark: 0 },
  )
  return {
    stream,
    cancelled,
    /** Resolves when more is pulled, which is never sent. */
    hanging: hanging.promise,
    get sent() {
      return sent
    },
  }
}

afterEach(() => void vi.useRealTimers())

describe('a streamed body', () => {
  // Not with the answer: some hosts cut the connection when the body is cancelled.
  test('over the limit is refused at once and its source cancelled a second later, though it never ends', async () => {
    vi.useFakeTimers()
    const { send, records } = mounted({ maxBodyBytes: 100 })
    const { header } = await sign(orderCreated())
    const body = source([new Uint8Array(60), new Uint8Array(60), new Uint8Array(60)], 'hang')
    expect(await send(streamedRequest(header, body.stream))).toMatchObject({
      status: 413,
      text: '{"outcome":"too_large"}',
    })
    expect(body.cancelled).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(body.cancelled).toHaveBeenCalledTimes(1)
    expect(body.sent).toBe(2)
    expect(records).toMatchObject([{ code: 'too_large' }])
  })

  test('that is empty though a length was declared was read by something else: misconfigured', async () => {
    const { send, reports } = mounted()
    const { header, body } = await sign(orderCreated())
    const request = streamedRequest(header, source([]).stream, { 'content-length': String(body.length) })
    expect(await send(request)).toMatchObject({ status: 500, text: '{"outcome":"misconfigured"}' })
    expect(reports).toEqual([expect.stringContaining('already read')])
  })

  test('of text and not of bytes is misconfigured', async () => {
    const { send, reports } = mounted()
    const { header, body } = await sign(orderCreated())
    const text = [new TextDecoder().decode(body)] as unknown as Uint8Array[]
    expect(await send(streamedRequest(header, source(text).stream))).toMatchObject({ status: 500 })
    expect(reports).toEqual([
      expect.stringMatching(/must bring chunks of bytes \(Uint8Array\), not a string/),
    ])
  })

  test('that is slow is incomplete at the deadline, and its source is cancelled a second later', async () => {
    vi.useFakeTimers()
    const { send, records, reports } = mounted({ timeoutSeconds: 10 })
    const { header, body } = await sign(orderCreated())
    const slow = source([body.slice(0, 20)], 'hang')
    const answering = send(streamedRequest(header, slow.stream))
    await slow.hanging
    await vi.advanceTimersByTimeAsync(9_999)
    expect(slow.cancelled).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(await answering).toMatchObject({
      status: 400,
      headers: { connection: 'close' },
      text: '{"outcome":"incomplete"}',
    })
    expect(slow.cancelled).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(slow.cancelled).toHaveBeenCalledTimes(1)
    expect(records).toMatchObject([{ code: 'body_incomplete' }])
    expect(reports).toEqual([expect.stringMatching(/too slow.+timeoutSeconds/)])
  })
})

test.each(['5', 'many', ''])('a declared length of "%s" decides nothing within the limit', async (length) => {
  const { send } = mounted()
  const { header, body } = await sign(orderCreated())
  const request = streamedRequest(header, source([body]).stream, { 'content-length': length })
  expect(await send(request)).toMatchObject(HANDLED)
})

describe('a body that others had', () => {
  test('and read is misconfigured: a signature cannot be checked without the bytes', async () => {
    const { send, records, reports, runs } = mounted()
    const request = requestOf(await sign(orderCreated()))
    await request.json()
    expect(await send(request)).toMatchObject({ status: 500, text: '{"outcome":"misconfigured"}' })
    expect(records).toMatchObject([{ code: 'misconfigured' }])
    expect(reports).toEqual([
      expect.stringMatching(/already read.+before anything reads it.+request\.clone\(\)/),
    ])
    expect(runs).toEqual([])
  })

  test('and still hold a reader of is misconfigured: it is not the client that is to blame', async () => {
    const { send, reports } = mounted()
    const request = requestOf(await sign(orderCreated()))
    request.body?.getReader()
    expect(await send(request)).toMatchObject({ status: 500, text: '{"outcome":"misconfigured"}' })
    expect(reports).toEqual([expect.stringContaining('before anything reads it')])
  })
})
