import type { Express, NextFunction, Request, RequestHandler, Response } from 'express'
import type { WebhookOptions } from 'tix-webhooks'
import type { ExpressWebhooks } from 'tix-webhooks/express'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, sign } from '../support/deliveries.js'
import { EXPRESS_VERSIONS, type ExpressApp, expressApp } from '../support/express.js'
import { post } from '../support/http.js'
import { deferred, turns } from '../support/promises.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'

const utf8 = new TextEncoder()
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf)
const PRETTY =
  '{ "data": {"event" : {"title": "caf\\u00e9"}},\n\t"type":"event.published", "created_at": "" }'

function postHooks(app: Express, hooks: ExpressWebhooks): void {
  app.post('/hooks', hooks)
}

/** The usual `verify` option of `express.json()` that keeps the bytes. */
function keepAs(keep: (bytes: Buffer) => Buffer | string) {
  return (request: unknown, _response: unknown, bytes: Buffer): void => {
    ;(request as { rawBody?: unknown }).rawBody = keep(bytes)
  }
}

function begin(request: Request, _response: Response, next: NextFunction): void {
  request.once('data', () => {
    request.pause()
    next()
  })
}

describe.each(EXPRESS_VERSIONS)('Express $version', ({ express }) => {
  /** An app with middleware before the webhook. */
  const behind = (before: readonly RequestHandler[], overrides: Partial<WebhookOptions> = {}) =>
    expressApp(
      express,
      (app, hooks) => {
        for (const middleware of before) app.use(middleware)
        app.post(['/hooks', '/mended'], hooks)
      },
      overrides,
    )
  const mended = { path: '/mended' }

  test('under app.use each POST is taken, and reported by its whole path; all else is passed on, as middleware does', async () => {
    const onConsole = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => onConsole.mockRestore())
    const mount = (app: Express, hooks: ExpressWebhooks): void => {
      app.use('/hooks', hooks)
      app.get('/hooks/status', (_request, response) => void response.send('open'))
    }
    const { port, records } = await expressApp(express, mount, { onError: undefined })
    expect(await post(port, { method: 'GET', path: '/hooks/status' })).toMatchObject({
      status: 200,
      text: 'open',
    })
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'OPTIONS']) {
      for (const path of ['/hooks', '/hooks/in']) {
        expect((await post(port, { method, path })).status, `${method} ${path}`).toBe(404)
      }
    }
    expect(records).toEqual([])
    assertAnswer(await deliver(port, await sign(orderCreated()), { path: '/hooks/in' }), 200, 'handled')
    assertAnswer(await post(port, { path: '/hooks/in' }), 400, 'malformed')
    expect(onConsole.mock.calls).toEqual([[expect.stringContaining('[/hooks/in]')]])
  })

  test('it answers by itself: what is mounted after it never runs, error middleware included', async () => {
    const after: string[] = []
    const fail = (): never => {
      throw new Error('no seats left')
    }
    const app = await expressApp(
      express,
      (app, hooks) => {
        app.post('/hooks', hooks)
        app.use((_request, _response, next) => {
          after.push('middleware')
          next()
        })
        app.use((error: unknown, _request: unknown, _response: unknown, next: (error: unknown) => void) => {
          after.push('error middleware')
          next(error)
        })
      },
      { on: { 'order.created': fail } },
    )
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 500, 'failed')
    assertAnswer(await post(app.port), 400, 'malformed')
    expect(after).toEqual([])
  })

  test('a middleware that calls next() twice lets Express answer 404: the handler runs once, and it is reported', async () => {
    const work = deferred()
    const handle = vi.fn(() => work.promise)
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
    assertAnswer(await deliver(app.port, delivery, mended), 200, 'duplicate')
    expect(handle).toHaveBeenCalledTimes(1)
  })

  test('a handler that answered for itself, or has begun to, is left to end its answer', async () => {
    const begun = deferred<Request>()
    const answerItself = ({ data }: { data: { order: { id: string } } }, ctx: { request: unknown }): void => {
      const request = ctx.request as Request
      if (data.order.id === 'ord_begun') {
        request.res?.write('begun, ')
        begun.resolve(request)
      } else request.res?.status(202).send('mine')
    }
    const app = await expressApp(express, postHooks, { on: { 'order.created': answerItself } as never })
    const delivery = await sign(orderCreated())
    expect(await deliver(app.port, delivery)).toMatchObject({ status: 202, text: 'mine' })
    assertAnswer(await deliver(app.port, delivery), 200, 'duplicate')
    expect(app.reports).toEqual([expect.stringMatching(/your handler answer the request itself/)])

    const answer = deliver(app.port, await sign(orderCreated({ id: 'ord_begun' })))
    const request = await begun.promise
    await app.recorded(3)
    // The answer of the adapter would have been sent by then.
    await turns(1)
    request.res?.end('ended')
    expect(await answer).toMatchObject({ status: 200, text: 'begun, ended' })
  })

  test.each<[string, () => RequestHandler]>([
    ['express.raw()', () => express.raw({ type: '*/*' })],
    ['express.text()', () => express.text({ type: '*/*' })],
    ['express.json() that keeps a string', () => express.json({ verify: keepAs(String) })],
  ])('%s before us keeps what was sent, up to our limit', async (_, parser) => {
    let emitted: unknown
    const app = await behind([
      parser(),
      (request, response, next) => {
        response.on('finish', () => {
          try {
            emitted = request.emit('error', new Error('late'))
          } catch (error) {
            emitted = error
          }
        })
        next()
      },
    ])
    assertAnswer(await deliver(app.port, await sign(PRETTY)), 200, 'handled')
    expect(Buffer.from(app.runs[0]?.rawBody ?? []).toString()).toBe(PRETTY)
    // An error that nobody listens for would end the process.
    await expect.poll(() => emitted).toBe(true)
    const forged = await sign(PRETTY, { secret: 'another' })
    assertAnswer(await deliver(app.port, forged), 401, 'unauthenticated')
    const empty = { 'x-service-signature': (await sign('')).header }
    assertAnswer(await post(app.port, { headers: empty }), 500, 'unprocessable')
    expect(app.reports.at(-1)).toMatch(/it is empty/)

    const small = await behind([parser()], { maxBodyBytes: 100 })
    assertAnswer(await deliver(small.port, await sign(orderCreated())), 413, 'too_large')
  })

  test('the account is found in the payload behind express.raw(), and in the path of a router above', async () => {
    const shops = new Map([['acme', { id: 'acme', secret: 'whsec_acme' }]])
    const overrides = (find: (request: Request) => unknown): Partial<WebhookOptions> =>
      ({ secret: undefined, account: (request: Request) => shops.get(String(find(request))) }) as never
    const inPayload = await expressApp(
      express,
      (app, hooks) => app.post('/hooks', express.raw({ type: () => true, limit: '1mb' }), hooks),
      overrides(({ body }) => JSON.parse(body).shop),
    )
    const payload = { ...orderCreated(), shop: 'acme' }
    assertAnswer(await deliver(inPayload.port, await sign(payload, { secret: 'whsec_acme' })), 200, 'handled')
    assertAnswer(await deliver(inPayload.port, await sign(payload)), 401, 'unauthenticated')

    for (const mergeParams of [true, false]) {
      const { port } = await expressApp(
        express,
        (app, hooks) => app.use('/:shop', express.Router({ mergeParams }).post('/hooks', hooks)),
        overrides(({ params }) => params.shop),
      )
      const { status } = await deliver(port, await sign(orderCreated(), { secret: 'whsec_acme' }), {
        path: '/acme/hooks',
      })
      expect(status).toBe(mergeParams ? 200 : 401)
    }
  })

  test.each([
    ['string', ''],
    ['Buffer', Buffer.alloc(0)],
  ])('an empty %s as rawBody, to be filled while the body comes, is not taken for it', async (_, rawBody) => {
    const app = await behind([
      (request, _response, next) => {
        const kept = Object.assign(request, { rawBody })
        request.on('data', (chunk) => {
          kept.rawBody += chunk
        })
        next()
      },
    ])
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 200, 'handled')
  })

  test.each<[string, (request: Request) => void]>([
    ['pauses the request', (request) => void process.nextTick(() => request.pause())],
  ])('a middleware that %s is named where the body is incomplete at the deadline', async (_, holdUp) => {
    const before: RequestHandler = (request, _response, next) => {
      holdUp(request)
      next()
    }
    const app = await behind([before], { timeoutSeconds: 0.2 })
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 400, 'incomplete')
    expect(app.reports).toEqual([expect.stringMatching(/in this app has paused the request/)])
  })

  test('express.text() drops a byte order mark: refused, and the report says why', async () => {
    const app = await behind([express.text({ type: '*/*' })])
    const marked = Buffer.concat([BOM, utf8.encode(JSON.stringify(orderCreated()))])
    assertAnswer(await deliver(app.port, await sign(marked)), 401, 'unauthenticated')
    expect(app.reports).toEqual([expect.stringMatching(/byte order mark: use express\.raw\(/)])
  })

  const form = 'application/x-www-form-urlencoded'
  test.each<[string, string, () => RequestHandler]>([
    ['express.json()', 'application/json', () => express.json()],
    ['express.urlencoded()', form, () => express.urlencoded({ extended: true })],
    ['a body parser', 'text/plain', () => express.json({ type: () => true })],
    ['a body parser', 'text/plain', () => begin],
  ])('%s uses up a body of %s: misconfigured, and the report shows the fix', async (name, type, parser) => {
    const app: ExpressApp = await behind([parser()])
    const answer = await deliver(app.port, await sign(orderCreated()), { headers: { 'content-type': type } })
    assertAnswer(answer, 500, 'misconfigured')
    expect(app.runs).toEqual([])
    expect(app.records).toMatchObject([{ outcome: 'misconfigured', code: 'misconfigured' }])
    const [report = ''] = app.reports
    expect(report).toContain(`Most likely it was ${name}, mounted before tixWebhooks`)
    expect(report).toContain(name === 'a body parser' ? 'route before it' : `route before app.use(${name})`)
    const keeper = name === 'express.urlencoded()' ? 'express.urlencoded' : 'express.json'
    expect(report).toContain(`${keeper}({ verify: (req, res, buffer) => { req.rawBody = buffer } })`)
  })

  test('where NestJS may have mounted the parser, the report shows the two ways of NestJS first', async () => {
    // Another file of the same worker may have loaded reflect-metadata.
    const loaded = Object.getOwnPropertyDescriptor(Reflect, 'getMetadata')
    Reflect.set(Reflect, 'getMetadata', () => undefined)
    onTestFinished(() => {
      Reflect.deleteProperty(Reflect, 'getMetadata')
      if (loaded !== undefined) Object.defineProperty(Reflect, 'getMetadata', loaded)
    })
    const app = await behind([express.json()])
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 500, 'misconfigured')
    expect(app.reports).toEqual([
      expect.stringMatching(
        /In NestJS call app\.use\(.+before app\.listen\(\).+\{ rawBody: true \}.+Elsewhere/,
      ),
    ])
  })

  test('a body that passes the parsers unread is handled', async () => {
    const app = await behind([express.json(), express.urlencoded({ extended: true })])
    const headers = { 'content-type': 'text/plain' }
    assertAnswer(await deliver(app.port, await sign(PRETTY), { headers }), 200, 'handled')
  })
})
