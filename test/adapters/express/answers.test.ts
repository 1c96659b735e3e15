import type { Express, Request } from 'express'
import type { WebhookOptions } from 'tix-webhooks'
import type { ExpressWebhooks } from 'tix-webhooks/express'
import { describe, expect, onTestFinished, test } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { EXPRESS_VERSIONS, expressApp } from '../../support/express.js'
import { chunk, dial, LAST_CHUNK, requestHead } from '../../support/http.js'
import { deferred, turns, watch } from '../../support/promises.js'
import { assertAnswer, deliver, jsonHeaders } from '../../support/raw-bytes-harness.js'
import { SOON_HEADER } from '../../support/retry-after.js'

function postHooks(app: Express, hooks: ExpressWebhooks): void {
  app.post('/hooks', hooks)
}

describe.each(EXPRESS_VERSIONS)('the answer in Express $version', ({ express }) => {
  test.each<[string, () => unknown, RegExp]>([
    [
      'throws an error',
      () => {
        throw new Error('no seats left')
      },
      /^no seats left$/,
    ],
    ['rejects with an error', () => Promise.reject(new Error('no seats left')), /^no seats left$/],
    [
      'throws a string',
      () => {
        throw 'no seats left'
      },
      /threw something that is not an Error \(string\)/,
    ],
    ['rejects with nothing', () => Promise.reject(), /threw something that is not an Error \(undefined\)/],
    ['rejects with null', () => Promise.reject(null), /threw something that is not an Error \(object\)/],
  ])('a handler that %s is answered 500, and the next delivery runs it again', async (_, fail, report) => {
    let isMended = false
    const handle = (): unknown => (isMended ? undefined : fail())
    const app = await expressApp(express, postHooks, { on: { 'order.created': handle } })
    const delivery = await sign(orderCreated())
    assertAnswer(await deliver(app.port, delivery), 500, 'failed')
    expect(app.reports).toEqual([expect.stringMatching(report)])
    isMended = true
    assertAnswer(await deliver(app.port, delivery), 200, 'handled')
    expect(app.records.map(({ attempt }) => attempt)).toEqual([1, 2])
  })

  test('a handler that rejects after its sender was answered is reported, and rejects nowhere', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown): number => unhandled.push(reason)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))

    const work = deferred()
    const report = deferred<unknown>()
    const onError = (error: unknown): void => {
      if (error instanceof Error && error.message === 'too late') report.resolve(error)
    }
    const options: Partial<WebhookOptions> = {
      timeoutSeconds: 0.25,
      on: { 'order.created': () => work.promise },
      onError,
    }
    const app = await expressApp(express, postHooks, options)
    const answer = await deliver(app.port, await sign(orderCreated()))
    assertAnswer(answer, 503, 'timed_out')
    expect(answer.headers['retry-after']).toBe('5')
    work.reject(new Error('too late'))
    expect(await report.promise).toMatchObject({ message: 'too late' })
    await app.hooks.drain()
    // Node reports unhandled rejections after the microtasks.
    await turns(1)
    expect(unhandled).toEqual([])
    expect(app.records).toHaveLength(1)
  })

  test('a middleware that calls next() twice lets Express answer 404: the handler runs once, and it is reported', async () => {
    const work = deferred()
    let runs = 0
    const handle = (): Promise<void> => {
      runs += 1
      return work.promise
    }
    const app = await expressApp(
      express,
      (app, hooks) => {
        app.use('/hooks', (_request, _response, next) => {
          next()
          next()
        })
        app.post(['/hooks', '/mended'], hooks)
      },
      { on: { 'order.created': handle } },
    )
    const delivery = await sign(orderCreated())
    expect((await deliver(app.port, delivery)).status).toBe(404)
    work.resolve()
    await app.recorded(1)
    expect(app.records).toMatchObject([{ outcome: 'handled' }])
    expect(app.reports).toEqual([
      expect.stringMatching(/ended as handled, but .* does a middleware call next\(\) twice/),
    ])
    assertAnswer(await deliver(app.port, delivery, { path: '/mended' }), 200, 'duplicate')
    expect(runs).toBe(1)
  })

  test('a handler that answered for itself is not answered for again', async () => {
    const answerItself = (_event: unknown, { request }: { request: unknown }): void => {
      ;(request as Request).res?.status(202).send('mine')
    }
    const app = await expressApp(express, postHooks, { on: { 'order.created': answerItself } })
    const delivery = await sign(orderCreated())
    expect(await deliver(app.port, delivery)).toMatchObject({ status: 202, text: 'mine' })
    assertAnswer(await deliver(app.port, delivery), 200, 'duplicate')
    expect(app.reports).toEqual([expect.stringMatching(/your handler answer the request itself/)])
  })

  test('a handler that has begun an answer of its own is left to end it', async () => {
    const begun = deferred<Request>()
    const beginAnswer = (_event: unknown, { request }: { request: unknown }): void => {
      ;(request as Request).res?.write('begun, ')
      begun.resolve(request as Request)
    }
    const app = await expressApp(express, postHooks, { on: { 'order.created': beginAnswer } })
    const answer = deliver(app.port, await sign(orderCreated()))
    const request = await begun.promise
    await app.recorded(1)
    // The answer of the adapter would have been sent by then.
    await turns(1)
    request.res?.end('ended')
    expect(await answer).toMatchObject({ status: 200, text: 'begun, ended' })
  })

  test('if a middleware answers and then calls next(), its answer is sent once', async () => {
    const app = await expressApp(express, (app, hooks) => {
      app.use('/hooks', (_request, response, next) => {
        response.status(202).end('early')
        next()
      })
      app.post(['/hooks', '/mended'], hooks)
    })
    const delivery = await sign(orderCreated())
    expect(await deliver(app.port, delivery)).toMatchObject({ status: 202, text: 'early' })
    await app.recorded(1)
    const [outcome] = app.records.map((record) => record.outcome)
    const next = await deliver(app.port, delivery, { path: '/mended' })
    assertAnswer(next, 200, outcome === 'handled' ? 'duplicate' : 'handled')
    expect(app.runs).toHaveLength(1)
  })

  test('a draining endpoint answers 503 before it reads, and lets the running handler end', async () => {
    const started = deferred()
    const work = deferred()
    const handle = (): Promise<void> => {
      started.resolve()
      return work.promise
    }
    const app = await expressApp(express, postHooks, { on: { 'order.created': handle } })
    const running = deliver(app.port, await sign(orderCreated()))
    await started.promise
    const draining = app.hooks.drain()
    const drained = watch(draining)

    const { header } = await sign(orderCreated())
    const client = await dial(app.port)
    await client.write(requestHead({ ...jsonHeaders(header), 'transfer-encoding': 'chunked' }))
    const refused = await client.answer()
    assertAnswer(refused, 503, 'unavailable')
    expect(refused.headers['retry-after']).toEqual(SOON_HEADER)
    expect(app.records).toMatchObject([{ outcome: 'unavailable', code: 'draining' }])
    await client.write(chunk(new Uint8Array(10)))
    await client.write(LAST_CHUNK)
    client.destroy()

    expect(drained.isResolved).toBe(false)
    work.resolve()
    assertAnswer(await running, 200, 'handled')
    await draining
    await app.close()
  })
})
