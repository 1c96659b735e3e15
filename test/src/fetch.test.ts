import { requestBody, tixWebhooks } from 'tix-webhooks/fetch'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { answerOf, PlatformContext, requestOf } from '../support/fetching.js'
import { deferred } from '../support/promises.js'
import { watched } from '../support/watched.js'

const on = { 'order.created': () => {} }

afterEach(() => void vi.useRealTimers())

describe('the answer', () => {
  test.each([[undefined], [{}], [{ body: '{}', headers: { 'x-service-signature': 't=1,v1=00' } }]])(
    'anything but a Request is refused with the fix: %j',
    async (request) => {
      const handle = tixWebhooks({ secret: SECRET, on })
      await expect(handle(request as unknown as Request)).rejects.toThrow(
        /^The handler takes a Request: .*delivery\.toRequest/,
      )
    },
  )
})

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
