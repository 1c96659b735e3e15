import { once } from 'node:events'
import { connect } from 'node:http2'
import { Writable } from 'node:stream'
import { type DeliveryRecord, isWebhookError } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fastify'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { FASTIFY_VERSIONS, injected, listenTo } from '../support/fastify.js'
import { post } from '../support/http.js'
import { deferred } from '../support/promises.js'
import { SOON_HEADER } from '../support/retry-after.js'

const on = { 'order.created': () => {} }

describe.each(FASTIFY_VERSIONS)('Fastify $version', ({ fastify }) => {
  describe('the route', () => {
    test('handles a signed delivery and refuses a forged one', async () => {
      const orders: string[] = []
      const app = fastify()
      app.post(
        '/hooks',
        tixWebhooks({
          secret: SECRET,
          on: { 'order.created': (event) => orders.push(event.data.order.id) },
          onError: () => {},
        }),
      )
      const handled = await app.inject(injected(await sign(orderCreated({ id: 'ord_inject' }))))
      expect(handled).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' })
      const forged = await app.inject(injected(await sign(orderCreated(), { secret: 'another' })))
      expect(forged).toMatchObject({ statusCode: 401, body: '{"outcome":"unauthenticated"}' })
      expect(orders).toEqual(['ord_inject'])
    })

    test.each([
      'application/json',
      'application/json; charset=utf-8',
      'application/cloudevents+json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=nothing',
      'application/octet-stream',
      'no type at all',
      undefined,
    ])('takes the content type %s, over a socket and through inject()', async (contentType) => {
      const app = fastify()
      app.post('/hooks', tixWebhooks({ secret: SECRET, on }))
      const inject = await app.inject(injected(await sign(orderCreated()), { 'content-type': contentType }))
      expect(inject).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' })

      const { headers, payload } = injected(await sign(orderCreated()), { 'content-type': contentType })
      const answer = await post(await listenTo(app), { headers, body: payload })
      expect(answer).toMatchObject({ status: 200, text: '{"outcome":"handled"}' })
    })

    test('can be spread into app.route, with a prefix, beside options of the user', async () => {
      const app = fastify()
      app.register(
        async (scope) => {
          scope.route({
            method: 'POST',
            url: '/hooks',
            config: { mine: true },
            ...tixWebhooks({ secret: SECRET, on }),
          })
        },
        { prefix: '/v1' },
      )
      const response = await app.inject(injected(await sign(orderCreated()), {}, '/v1/hooks'))
      expect(response).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' })
      expect(await app.inject(injected(await sign(orderCreated())))).toMatchObject({ statusCode: 404 })
    })

    test('leaves the other routes of the app their parsers and their 415', async () => {
      const app = fastify()
      app.post('/hooks', tixWebhooks({ secret: SECRET, on }))
      app.post<{ Body: { n: number } }>('/other', async ({ body }) => ({ sum: body.n + 1 }))
      await app.inject(injected(await sign(orderCreated())))

      const json = await app.inject({ method: 'POST', url: '/other', payload: { n: 41 } })
      expect(json.json()).toEqual({ sum: 42 })
      const xml = await app.inject({
        method: 'POST',
        url: '/other',
        headers: { 'content-type': 'application/xml' },
        payload: '<n>41</n>',
      })
      expect(xml).toMatchObject({ statusCode: 415 })
    })

    test('answers before a schema of the route, a parser of the app, or its bodyLimit can have a say', async () => {
      const parser = vi.fn((_request: unknown, body: unknown, done: (error: null, body: unknown) => void) =>
        done(null, body),
      )
      const app = fastify({ bodyLimit: 10 })
      app.addContentTypeParser('application/json', { parseAs: 'string' }, parser)
      const schema = { body: { type: 'object', required: ['never'] } }
      app.post('/hooks', { schema, ...tixWebhooks({ secret: SECRET, on }) })
      const response = await app.inject(injected(await sign(orderCreated())))
      expect(response).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' })
      expect(parser).not.toHaveBeenCalled()
    })

    test('holds maxBodyBytes under a larger bodyLimit, and allows it over a smaller one', async () => {
      const app = fastify({ bodyLimit: 1024 })
      app.post('/small', tixWebhooks({ secret: SECRET, on, maxBodyBytes: 100, onError: () => {} }))
      app.post('/large', tixWebhooks({ secret: SECRET, on, maxBodyBytes: 3_000_000 }))
      const small = await app.inject(injected(await sign(orderCreated()), {}, '/small'))
      expect(small).toMatchObject({ statusCode: 413, body: '{"outcome":"too_large"}' })
      const padded = { ...orderCreated(), padding: 'x'.repeat(2_000_000) }
      const large = await app.inject(injected(await sign(padded), {}, '/large'))
      expect(large).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' })
    })

    test('gives handlers and the secret function the FastifyRequest', async () => {
      const urls: unknown[] = []
      const app = fastify()
      app.decorateRequest('tenant', 'north')
      app.post(
        '/hooks/:endpoint',
        tixWebhooks({
          secret: (request) => (Reflect.get(request, 'tenant') === 'north' ? SECRET : 'another'),
          on: { 'order.created': (_event, { request }) => urls.push(request.params, request.id, request.ip) },
        }),
      )
      const delivery = injected(await sign(orderCreated()), {}, '/hooks/tickets')
      expect(await app.inject(delivery)).toMatchObject({ statusCode: 200 })
      expect(urls).toEqual([{ endpoint: 'tickets' }, 'req-1', '127.0.0.1'])
    })
  })

  describe('its life', () => {
    test('default reports go to the log of the request and not to the console', async () => {
      const onConsole = vi.spyOn(console, 'error').mockImplementation(() => {})
      onTestFinished(() => onConsole.mockRestore())
      const lines: Record<string, unknown>[] = []
      const stream = new Writable({
        write(chunk, _encoding, done) {
          lines.push(JSON.parse(String(chunk)))
          done()
        },
      })
      const app = fastify({ logger: { level: 'error', stream } })
      const failing = () => {
        throw new RangeError('no seats left', { cause: new Error('the hall is closed') })
      }
      app.post('/hooks', tixWebhooks({ secret: SECRET, on: { ...on, 'order.created': failing } }))
      await app.inject(injected(await sign(orderCreated(), { secret: 'another' })))
      await app.inject(injected(await sign(orderCreated({ id: 'ord_8' }))))
      expect(lines).toEqual([
        expect.objectContaining({
          level: 50,
          reqId: 'req-1',
          msg: expect.stringMatching(
            /^tix-webhooks: \[\/hooks\] No signature in x-service-signature matches/,
          ),
        }),
        expect.objectContaining({
          reqId: 'req-2',
          msg: 'tix-webhooks: [order.created default/order.created/ord_8] no seats left',
          err: expect.objectContaining({
            type: 'RangeError',
            stack: expect.stringMatching(/at .*failing[\s\S]*the hall is closed/),
          }),
        }),
      ])
      expect(lines[0]).not.toHaveProperty('err')
      expect(onConsole).not.toHaveBeenCalled()
    })

    test('default reports go to the console where the app has no logger, and nowhere where it is silent', async () => {
      const onConsole = vi.spyOn(console, 'error').mockImplementation(() => {})
      onTestFinished(() => onConsole.mockRestore())
      const failing = () => {
        throw new RangeError('no seats left')
      }
      for (const logger of [false, { level: 'silent' }]) {
        const app = fastify({ logger })
        app.post('/hooks', tixWebhooks({ secret: SECRET, on: { ...on, 'order.created': failing } }))
        await app.inject(injected(await sign(orderCreated({ id: 'ord_9' }))))
      }
      expect(onConsole.mock.calls).toEqual([
        [
          expect.stringMatching(
            /^tix-webhooks: \[order\.created default\/order\.created\/ord_9\] no seats left\n {4}RangeError: no seats left\n.*failing/,
          ),
        ],
      ])
    })

    test.each(['a string', undefined, null, 0, { no: 'error' }])(
      'a handler that throws %o is answered 500 with nothing of it',
      async (thrown) => {
        const errors: unknown[] = []
        const app = fastify()
        const handler = (): never => {
          throw thrown
        }
        app.post(
          '/hooks',
          tixWebhooks({
            secret: SECRET,
            on: { 'order.created': handler },
            onError: (error) => errors.push(error),
          }),
        )
        const response = await app.inject(injected(await sign(orderCreated())))
        expect(response).toMatchObject({ statusCode: 500, body: '{"outcome":"failed"}' })
        expect(errors.map((error) => isWebhookError(error) && error.code)).toEqual(['handler_failed'])
      },
    )

    test('drain before close: new deliveries get 503, the running one is finished and answered', async () => {
      const started = deferred()
      const finish = deferred()
      const hooks = tixWebhooks({
        secret: SECRET,
        on: {
          'order.created': async () => {
            started.resolve()
            await finish.promise
          },
        },
      })
      const app = fastify()
      app.post('/hooks', hooks)
      const running = app.inject(injected(await sign(orderCreated())))
      await started.promise
      const drained = hooks.drain()
      const refused = await app.inject(injected(await sign(orderCreated())))
      expect(refused).toMatchObject({ statusCode: 503, body: '{"outcome":"unavailable"}' })
      expect(refused.headers['retry-after']).toEqual(SOON_HEADER)
      const closed = app.close()
      finish.resolve()
      expect(await running).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' })
      await Promise.all([drained, closed])
    })

    test('works on an HTTP/2 server', async () => {
      const records: DeliveryRecord[] = []
      const app = fastify({ http2: true })
      app.post('/hooks', tixWebhooks({ secret: SECRET, on, onDelivery: (record) => records.push(record) }))
      const session = connect(`http://127.0.0.1:${await listenTo(app)}`)
      onTestFinished(() => session.destroy())

      const { header, body } = await sign(orderCreated())
      const send = async (content: Uint8Array): Promise<unknown[]> => {
        const stream = session.request({
          ':method': 'POST',
          ':path': '/hooks',
          'x-service-signature': header,
        })
        const answered = once(stream, 'response')
        stream.end(content)
        const [headers] = await answered
        return [headers[':status'], (await stream.toArray()).join('')]
      }
      expect(await send(body)).toEqual([200, '{"outcome":"handled"}'])
      expect(await send(body.slice(1))).toEqual([401, '{"outcome":"unauthenticated"}'])
      expect(records.map(({ outcome }) => outcome)).toEqual(['handled', 'unauthenticated'])
    })
  })
})
