import type { WebhookOptions } from 'tix-webhooks'
import { requestBody, tixWebhooks } from 'tix-webhooks/fetch'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { answerOf, PlatformContext, requestOf, streamedRequest } from '../support/fetching.js'
import type { HttpAnswer } from '../support/http.js'
import { deferred, never } from '../support/promises.js'
import { type Watched, watched } from '../support/watched.js'

const on = { 'order.created': () => {} }
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
    // Without a limit it would wait for the rest of the body, with the clock that stands still, for ever.
    const answer = await Promise.race([
      send(streamedRequest(header, body.stream)),
      body.hanging.then(() => 'it asked for more'),
    ])
    expect(answer).toMatchObject({ status: 413, text: '{"outcome":"too_large"}' })
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

  test('that is given up has its source cancelled a second later', async () => {
    vi.useFakeTimers()
    const slow = source([], 'hang')
    const read = requestBody(streamedRequest('', slow.stream))
    void read(100).catch(() => {})
    await slow.hanging
    read.cancel?.()
    expect(slow.cancelled).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(slow.cancelled).toHaveBeenCalledTimes(1)
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

test.each([[undefined], [{}], [{ body: '{}', headers: { 'x-service-signature': 't=1,v1=00' } }]])(
  'the answer anything but a Request is refused with the fix: %j',
  async (request) => {
    const handle = tixWebhooks({ secret: SECRET, on })
    await expect(handle(request as unknown as Request)).rejects.toThrow(
      /^The handler takes a Request: .*delivery\.toRequest/,
    )
  },
)

describe('waitUntil', () => {
  function slow(timeoutSeconds = 10) {
    const started = deferred()
    const finish = deferred()
    const wait = (): Promise<void> => {
      started.resolve()
      return finish.promise
    }
    const { options } = watched({ on: { 'order.created': wait }, timeoutSeconds })
    return { handle: tixWebhooks({ ...options, secret: SECRET }), started, finish }
  }

  test('is called as a method of its context, for a delivery, and once more when the handler outlives the answer', async () => {
    vi.useFakeTimers()
    const { handle, started, finish } = slow()
    const context = new PlatformContext()
    const delivery = await sign(orderCreated())
    const answering = handle(requestOf(delivery), context)
    await started.promise
    await vi.advanceTimersByTimeAsync(9_999)
    expect(context.kept).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(await answerOf(await answering)).toMatchObject({
      status: 503,
      headers: { 'retry-after': '5' },
      text: '{"outcome":"timed_out"}',
    })
    expect(context.kept).toHaveLength(2)
    finish.resolve()
    await Promise.all(context.kept)
    expect(await answerOf(await handle(requestOf(delivery), context))).toMatchObject({
      text: '{"outcome":"duplicate"}',
    })
    expect(context.kept).toHaveLength(2)
  })
  test.each([
    ['no context', undefined],
    ['a context without it', {}],
  ])('%s does not change the answer', async (_name, context) => {
    vi.useFakeTimers()
    const { handle, started, finish } = slow()
    const answering = handle(requestOf(await sign(orderCreated())), context)
    await started.promise
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await answerOf(await answering)).toMatchObject({ status: 503, text: '{"outcome":"timed_out"}' })
    finish.resolve()
  })
})

test('requestBody is a bounded reader for adapters of others', async () => {
  const request = (): Request => new Request('http://localhost', { method: 'POST', body: 'twelve bytes' })
  expect(await requestBody(request())(12)).toEqual(new TextEncoder().encode('twelve bytes'))
  await expect(requestBody(request())(11)).rejects.toMatchObject({ code: 'too_large' })
  const used = request()
  await used.text()
  await expect(requestBody(used, { advice: 'Ask the cook.' })(12)).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringMatching(/already read.+Ask the cook\.$/),
  })
})

test('a handler of fetch gets what the platform passed beside the request', async () => {
  const seen = vi.fn()
  const hooks = tixWebhooks({
    secret: SECRET,
    on: { 'order.created': (_, { platform, request }) => seen(platform, request) },
  })
  const request = requestOf(await sign(orderCreated()))
  const platform = { env: { DB: 'bindings' } }
  expect((await hooks(request, platform)).status).toBe(200)
  expect(seen).toHaveBeenCalledWith(platform, request)
})
