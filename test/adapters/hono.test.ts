import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { compress } from 'hono/compress'
import { tixWebhooks } from 'tix-webhooks/hono'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { answerOf, PlatformContext, requestOf, streamedRequest } from '../support/fetching.js'
import { deferred, watch } from '../support/promises.js'
import { SOON_HEADER } from '../support/retry-after.js'
import { watched } from '../support/watched.js'

const on = { 'order.created': () => {} }
const HANDLED = { status: 200, text: '{"outcome":"handled"}' }

describe('in an app', () => {
  test('a signed delivery is handled and a forged one refused', async () => {
    const app = new Hono().post('/hooks', tixWebhooks({ secret: SECRET, on, onError: () => {} }))
    expect(await answerOf(await app.request(requestOf(await sign(orderCreated()))))).toMatchObject(HANDLED)
    const forged = requestOf(await sign(orderCreated(), { secret: 'another' }))
    expect(await answerOf(await app.request(forged))).toMatchObject({ status: 401 })
  })

  test('ctx.request is the Context, with its variables', async () => {
    const seen: unknown[] = []
    const app = new Hono<{ Variables: { tenant: string } }>()
    app.use(async (c, next) => {
      c.set('tenant', 'north')
      await next()
    })
    app.post(
      '/hooks/:endpoint',
      tixWebhooks<{ Variables: { tenant: string } }>({
        secret: SECRET,
        on: {
          'order.created': (_event, { request: c }) => seen.push(c.get('tenant'), c.req.param('endpoint')),
        },
      }),
    )
    const delivery = requestOf(await sign(orderCreated()))
    expect((await app.request(new Request('http://localhost/hooks/tickets', delivery))).status).toBe(200)
    expect(seen).toEqual(['north', 'tickets'])
  })

  test('the secret can come from c.env, and is misconfigured where it is not set', async () => {
    type AppEnv = { Bindings: { TIX_SIGNING_SECRET?: string } }
    const { options, reports } = watched()
    const app = new Hono<AppEnv>()
    const secret = (c: Context<AppEnv>) => c.env.TIX_SIGNING_SECRET
    app.post('/hooks', tixWebhooks({ ...options, on, secret }))
    const delivery = await sign(orderCreated())
    const good = await app.request(requestOf(delivery), undefined, { TIX_SIGNING_SECRET: SECRET })
    expect(await answerOf(good)).toMatchObject(HANDLED)
    const unset = await app.request(requestOf(delivery), undefined, {})
    expect(await answerOf(unset)).toMatchObject({ status: 500, text: '{"outcome":"misconfigured"}' })
    expect(reports).toEqual([expect.stringMatching(/secret function returned undefined/)])
  })

  test('works in a sub-app under a base path, and leaves other methods and paths to the router', async () => {
    const hooks = new Hono().post('/tix', tixWebhooks({ secret: SECRET, on }))
    const app = new Hono().basePath('/v1').route('/hooks', hooks)
    const delivery = requestOf(await sign(orderCreated()))
    const post = await app.request(new Request('http://localhost/v1/hooks/tix', delivery))
    expect(await answerOf(post)).toMatchObject(HANDLED)
    expect((await app.request('/v1/hooks/tix')).status).toBe(404)
  })

  test('what a handler throws is answered by us and does not reach app.onError', async () => {
    const onAppError = vi.fn((_error: Error, c: Context) => c.text('the app', 418))
    const { options, reports } = watched()
    const app = new Hono()
    app.onError(onAppError)
    const handler = (): never => {
      throw new Error('the ledger is closed')
    }
    app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on: { 'order.created': handler } }))
    const answer = await answerOf(await app.request(requestOf(await sign(orderCreated()))))
    expect(answer).toMatchObject({ status: 500, text: '{"outcome":"failed"}' })
    expect(reports).toEqual(['the ledger is closed'])
    expect(onAppError).not.toHaveBeenCalled()
  })

  test('default reports go to console.error, one line each', async () => {
    const onConsole = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => onConsole.mockRestore())
    const app = new Hono().post('/hooks', tixWebhooks({ secret: SECRET, on }))
    await app.request(requestOf(await sign(orderCreated(), { secret: 'another' })))
    expect(onConsole.mock.calls).toEqual([
      [expect.stringMatching(/^tix-webhooks: \[\/hooks\] No signature.+matches.+$/)],
    ])
  })

  test('drain refuses new deliveries and waits for the running one', async () => {
    const started = deferred()
    const finish = deferred()
    const wait = (): Promise<void> => {
      started.resolve()
      return finish.promise
    }
    const hooks = tixWebhooks({ secret: SECRET, on: { 'order.created': wait } })
    const app = new Hono().post('/hooks', hooks)
    const running = app.request(requestOf(await sign(orderCreated())))
    await started.promise
    const draining = hooks.drain()
    const drained = watch(draining)
    const refused = await answerOf(await app.request(requestOf(await sign(orderCreated()))))
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': SOON_HEADER } })
    expect(drained.isResolved).toBe(false)
    finish.resolve()
    await draining
    expect(await answerOf(await running)).toMatchObject(HANDLED)
  })
})

describe('beside other middleware', () => {
  const chunked = async (header: string, body: Uint8Array): Promise<Request> =>
    streamedRequest(header, new Blob([body.slice(0, 9), body.slice(9)]).stream(), {
      'transfer-encoding': 'chunked',
    })

  test.each([1_000, 10])("hono's bodyLimit of %i in front of us has its own say", async (maxSize) => {
    const app = new Hono()
    app.use(bodyLimit({ maxSize }))
    app.post('/hooks', tixWebhooks({ secret: SECRET, on }))
    const { header, body } = await sign(orderCreated())
    const expected = maxSize < body.length ? { status: 413, text: 'Payload Too Large' } : HANDLED
    expect(await answerOf(await app.request(await chunked(header, body)))).toMatchObject(expected)
  })

  test('our maxBodyBytes holds behind a larger bodyLimit', async () => {
    const { options } = watched()
    const app = new Hono()
    app.use(bodyLimit({ maxSize: 10_000 }))
    app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on, maxBodyBytes: 50 }))
    const { header, body } = await sign(orderCreated())
    const answer = await answerOf(await app.request(await chunked(header, body)))
    expect(answer).toMatchObject({ status: 413, text: '{"outcome":"too_large"}' })
  })

  test('the answer can be compressed', async () => {
    const app = new Hono()
    app.use(compress({ threshold: 0 }))
    app.post('/hooks', tixWebhooks({ secret: SECRET, on }))
    const response = await app.request(requestOf(await sign(orderCreated()), { 'accept-encoding': 'gzip' }))
    expect(response.headers.get('content-encoding')).toBe('gzip')
    const plain = response.body?.pipeThrough(new DecompressionStream('gzip')) ?? null
    expect(await new Response(plain).text()).toBe(HANDLED.text)
  })

  test('a middleware can add headers to the answer', async () => {
    const app = new Hono()
    app.use(async (c, next) => {
      await next()
      c.header('x-request-id', 'one')
    })
    app.post('/hooks', tixWebhooks({ secret: SECRET, on }))
    const answer = await answerOf(await app.request(requestOf(await sign(orderCreated()))))
    expect(answer).toMatchObject({ ...HANDLED, headers: { 'x-request-id': 'one' } })
  })
})

test('a body that is too slow is incomplete at the deadline, and its source is cancelled a second later', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { options, reports } = watched({ timeoutSeconds: 10 })
  const app = new Hono().post('/hooks', tixWebhooks({ ...options, secret: SECRET, on }))
  const asked = deferred()
  const cancel = vi.fn()
  const slow = new ReadableStream<Uint8Array>({ pull: () => asked.resolve(), cancel }, { highWaterMark: 0 })
  const answering = app.request(streamedRequest((await sign('')).header, slow))
  await asked.promise
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await answerOf(await answering)).toMatchObject({ status: 400, text: '{"outcome":"incomplete"}' })
  await vi.advanceTimersByTimeAsync(1_000)
  expect(cancel).toHaveBeenCalledTimes(1)
  expect(reports).toEqual([expect.stringMatching(/too slow.+timeoutSeconds/)])
})

describe('a handler that outlives the deadline', () => {
  async function outlive(context: PlatformContext | undefined) {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const started = deferred()
    const finish = deferred()
    const wait = (): Promise<void> => {
      started.resolve()
      return finish.promise
    }
    const { options } = watched()
    const app = new Hono()
    app.post(
      '/hooks',
      tixWebhooks({ ...options, secret: SECRET, on: { 'order.created': wait }, timeoutSeconds: 10 }),
    )
    const delivery = await sign(orderCreated())
    const send = () => app.request(requestOf(delivery), undefined, undefined, context)
    const answering = send()
    await started.promise
    await vi.advanceTimersByTimeAsync(10_000)
    const answer = await answerOf(await answering)
    return { answer, finish, send }
  }

  test('is handed to waitUntil, and its completion is recorded', async () => {
    const context = new PlatformContext()
    const { answer, finish, send } = await outlive(context)
    expect(answer).toMatchObject({
      status: 503,
      text: '{"outcome":"timed_out"}',
      headers: { 'retry-after': '5' },
    })
    // The delivery up to its answer, and the rest of its run.
    expect(context.kept).toHaveLength(2)
    finish.resolve()
    await Promise.all(context.kept)
    expect(await answerOf(await send())).toMatchObject({ status: 200, text: '{"outcome":"duplicate"}' })
    expect(context.kept).toHaveLength(2)
  })

  test('is answered as well where there is no executionCtx', async () => {
    const { answer, finish } = await outlive(undefined)
    expect(answer).toMatchObject({ status: 503, text: '{"outcome":"timed_out"}' })
    finish.resolve()
  })
})
