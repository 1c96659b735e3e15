import { randomBytes } from 'node:crypto'
import { PassThrough, Readable, Writable } from 'node:stream'
import { createGunzip, gunzipSync, gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fastify'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { FASTIFY_VERSIONS, injected, listenTo } from '../support/fastify.js'
import { chunk, dial, LAST_CHUNK, post, requestHead } from '../support/http.js'
import { deferred, turns } from '../support/promises.js'
import { assertAnswer, deliver } from '../support/raw-bytes-harness.js'
import { watched } from '../support/watched.js'

const on = { 'order.created': () => {} }
const HANDLED = '{"outcome":"handled"}'
const MISCONFIGURED = '{"outcome":"misconfigured"}'

const failing = (): never => {
  throw new RangeError('no seats left', { cause: new Error('the hall is closed') })
}

/** Mounts a receiver that is watched. */
function mount(app: FastifyInstance, overrides: Partial<WebhookOptions> = {}) {
  const seen = watched(overrides)
  app.post('/hooks', tixWebhooks({ ...seen.options, secret: SECRET }))
  return seen
}

describe.each(FASTIFY_VERSIONS)('Fastify $version', ({ fastify }) => {
  test('hooks before and after the parsing run; those that would see a parsed body do not', async () => {
    const ran: string[] = []
    const app = fastify()
    const responded = deferred()
    app.addHook('onRequest', async () => void ran.push('onRequest'))
    app.addHook('preParsing', async () => void ran.push('preParsing'))
    app.addHook('preValidation', async () => void ran.push('preValidation'))
    app.addHook('preHandler', async () => void ran.push('preHandler'))
    app.addHook('preSerialization', async () => void ran.push('preSerialization'))
    app.addHook('onSend', async () => void ran.push('onSend'))
    app.addHook('onError', async () => void ran.push('onError'))
    app.addHook('onResponse', async () => {
      ran.push('onResponse')
      responded.resolve()
    })
    mount(app, { on: { 'order.created': () => ran.push('our handler') } })
    assertAnswer(await deliver(await listenTo(app), await sign(orderCreated())), 200, 'handled')
    await responded.promise
    expect(ran).toEqual(['onRequest', 'preParsing', 'our handler', 'onSend', 'onResponse'])
  })

  test('it answers before a schema of the route, a parser of the app, or its bodyLimit has a say', async () => {
    const parser = vi.fn((_request: unknown, body: unknown, done: (error: null, body: unknown) => void) =>
      done(null, body),
    )
    const app = fastify({ bodyLimit: 10 })
    app.addContentTypeParser('application/json', { parseAs: 'string' }, parser)
    const schema = { body: { type: 'object', required: ['never'] } }
    app.post('/hooks', { schema, ...tixWebhooks({ secret: SECRET, on }) })
    const response = await app.inject(injected(await sign(orderCreated())))
    expect(response).toMatchObject({ statusCode: 200, body: HANDLED })
    expect(parser).not.toHaveBeenCalled()
  })

  test('default reports go to the log of the request and not to the console', async () => {
    const onConsole = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => onConsole.mockRestore())
    const lines: Record<string, unknown>[] = []
    const stream = new Writable({
      write(line, _encoding, done) {
        lines.push(JSON.parse(String(line)))
        done()
      },
    })
    const app = fastify({ logger: { level: 'error', stream } })
    mount(app, { on: { 'order.created': failing }, onError: undefined })
    await app.inject(injected(await sign(orderCreated(), { secret: 'another' })))
    await app.inject(injected(await sign(orderCreated({ id: 'ord_8' }))))
    expect(lines).toEqual([
      expect.objectContaining({
        level: 50,
        reqId: 'req-1',
        msg: expect.stringMatching(/^tix-webhooks: \[\/hooks\] No signature in x-service-signature matches/),
      }),
      expect.objectContaining({
        reqId: 'req-2',
        msg: expect.stringMatching(
          /^tix-webhooks: \[\/hooks order\.created default\/order\.created\/ord_8, attempt 1, \d+ days old\] no seats left$/,
        ),
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
    for (const logger of [false, { level: 'silent' }]) {
      const app = fastify({ logger })
      mount(app, { on: { 'order.created': failing }, onError: undefined })
      await app.inject(injected(await sign(orderCreated({ id: 'ord_9' }))))
    }
    expect(onConsole.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^tix-webhooks: \[\/hooks order\.created default\/order\.created\/ord_9, attempt 1, \d+ days old\] no seats left\n {4}RangeError: no seats left\n.*failing/,
        ),
      ],
    ])
  })

  test.each([
    ['without an onSend hook', false],
    ['while its async onSend hook runs', true],
  ])('an answer that a handler sends itself is left alone, and reported: %s', async (_, isHooked) => {
    const replies: FastifyReply[] = []
    const warnings: string[] = []
    const app = fastify({
      logger: { level: 'warn', stream: { write: (line: string) => warnings.push(line) } },
    })
    app.addHook('onRequest', async (_request, reply) => void replies.push(reply))
    const sent: unknown[] = []
    if (isHooked) {
      app.addHook('onSend', async (_request, _reply, payload) => {
        sent.push(payload)
        await turns(3)
        return payload
      })
    }
    const answerItself = (): void => void replies[0]?.code(202).send('mine')
    const { records, reports } = mount(app, { on: { 'order.created': answerItself } })
    const answer = await app.inject(injected(await sign(orderCreated())))
    expect(answer).toMatchObject({ statusCode: 202, body: 'mine' })
    await turns(5)
    expect(sent).toEqual(isHooked ? ['mine'] : [])
    expect(records).toMatchObject([{ outcome: 'handled' }])
    expect(reports).toEqual([expect.stringMatching(/ended as handled, but .* already been answered/)])
    // Fastify warns of a reply that is sent twice.
    expect(warnings).toEqual([])
  })

  test.each(['stays', 'leaves'])(
    'a slow async onSend hook gets the answer once, and it is recorded once, if the client %s',
    async (what) => {
      const seen: unknown[] = []
      const [entered, go, gone] = [deferred(), deferred(), deferred()]
      const app = fastify()
      app.addHook('onRequest', async (_request, reply) => void reply.raw.on('close', gone.resolve))
      app.addHook('onSend', async (_request, reply, payload) => {
        seen.push([reply.statusCode, payload])
        entered.resolve()
        await go.promise
        return payload
      })
      const { records, reports } = mount(app)
      const { header, body } = await sign(orderCreated())
      const client = await dial(await listenTo(app))
      await client.write(requestHead({ 'x-service-signature': header, 'content-length': body.length }))
      await client.write(body)
      await entered.promise
      if (what === 'leaves') {
        client.destroy()
        await gone.promise
      }
      // Fastify would go on to its parser and its handler by then, if it thought that nobody had answered.
      await turns(5)
      go.resolve()
      if (what === 'stays') expect(await client.answer()).toMatchObject({ status: 200, text: HANDLED })
      client.destroy()
      await turns(5)
      expect(seen).toEqual([[200, HANDLED]])
      expect(records).toHaveLength(1)
      expect(reports).toEqual([])
    },
  )

  test.each<[string, (app: FastifyInstance) => unknown]>([
    [
      'an onRequest hook',
      (app) =>
        app.addHook('onRequest', async (request) => {
          for await (const _chunk of request.raw);
        }),
    ],
    [
      'a preParsing hook',
      (app) =>
        app.addHook('preParsing', async (_request, _reply, payload) => {
          for await (const _chunk of payload);
          return payload
        }),
    ],
  ])('%s that consumes the payload is misconfigured', async (_name, consume) => {
    const app = fastify()
    consume(app)
    const { reports } = mount(app)
    const delivery = await sign(orderCreated())
    assertAnswer(await deliver(await listenTo(app), delivery), 500, 'misconfigured')
    expect(await app.inject(injected(delivery))).toMatchObject({ statusCode: 500, body: MISCONFIGURED })
    expect(reports).toEqual(Array(2).fill(expect.stringMatching(/already read.+hook or plugin before/s)))
  })

  test('without its preParsing hook the parsed body is refused: never a 2xx', async () => {
    const { options, records, reports, runs } = watched()
    const app = fastify()
    const { preParsing: _taken, ...rest } = tixWebhooks({ ...options, secret: SECRET })
    app.post('/hooks', rest)
    const response = await app.inject(injected(await sign(orderCreated())))
    expect(response).toMatchObject({ statusCode: 500, body: MISCONFIGURED })
    expect(records).toMatchObject([{ code: 'misconfigured' }])
    expect(reports).toEqual([expect.stringMatching(/preParsing.+did not run.+app\.post/s)])
    expect(runs).toEqual([])
  })

  test.each(['before', 'while'])(
    'a payload that is destroyed %s we read it is incomplete at once',
    async (when) => {
      const app = fastify()
      app.addHook('preParsing', async (_request, _reply, payload) => {
        const through = payload.pipe(new PassThrough())
        const destroy = (): unknown => through.destroy()
        if (when === 'before') destroy()
        else setImmediate(destroy)
        return through
      })
      const { reports } = mount(app, { timeoutSeconds: 60 })
      const { header } = await sign('')
      const client = await dial(await listenTo(app))
      await client.write(requestHead({ 'x-service-signature': header, 'content-length': 100 }))
      expect(await client.answer()).toMatchObject({ status: 400, text: '{"outcome":"incomplete"}' })
      expect(reports).toEqual([expect.stringContaining('client went away')])
      client.destroy()
    },
  )

  describe('a hook that inflates before us', () => {
    const inflating = (gunzip = createGunzip()): FastifyInstance => {
      const app = fastify()
      app.addHook('preParsing', async (request, _reply, payload) =>
        request.headers['content-encoding'] === 'gzip' ? payload.pipe(gunzip) : payload,
      )
      return app
    }
    const headers = { 'content-encoding': 'gzip' }

    test.each([
      ['the signature is checked over the plain bytes', gzipSync, 200, 'handled'],
      ['what does not inflate is incomplete', (body: Uint8Array) => body, 400, 'incomplete'],
    ] as const)('%s', async (_, encode, status, outcome) => {
      const app = inflating()
      const { runs } = mount(app)
      const { header, body } = await sign(orderCreated())
      const answer = await deliver(await listenTo(app), { header, body: encode(body) }, { headers })
      assertAnswer(answer, status, outcome)
      expect(runs.map(({ rawBody }) => Buffer.from(rawBody))).toEqual(
        status === 200 ? [Buffer.from(body)] : [],
      )
    })

    test('a body that we answer without reading cannot end the process, though it does not inflate', async () => {
      const gunzip = createGunzip()
      const failed = new Promise((resolve) => gunzip.on('close', resolve))
      const app = inflating(gunzip)
      mount(app)
      assertAnswer(await post(await listenTo(app), { headers, body: 'hello' }), 400, 'malformed')
      // Its error comes after the answer; with nobody to hear it, vitest would report it as uncaught.
      await failed
      expect(gunzip.errored).toMatchObject({ code: 'Z_DATA_ERROR' })
    })

    test('once a body is refused, nothing more is inflated only to be thrown away', async () => {
      let pulled = 0
      const app = fastify()
      app.addHook('preParsing', async (_request, _reply, payload) => {
        payload.resume()
        return new Readable({
          read() {
            pulled += 1
            this.push(pulled < 2000 ? Buffer.alloc(65_536) : null)
          },
        })
      })
      mount(app, { maxBodyBytes: 100_000 })
      expect(await app.inject(injected(await sign(orderCreated())))).toMatchObject({ statusCode: 413 })
      await turns(10)
      expect(pulled).toBeLessThan(20)
    })

    test('a client that is refused while it sends sees the answer, and goes on with its connection', async () => {
      const app = inflating()
      mount(app, { maxBodyBytes: 1000 })
      const { header, body } = await sign(orderCreated())
      const client = await dial(await listenTo(app))
      // Noise, which does not shrink: more than what the buffers in between hold.
      const compressed = gzipSync(randomBytes(8_000_000))
      const coded = { ...headers, 'transfer-encoding': 'chunked' }
      await client.write(requestHead({ 'x-service-signature': header, ...coded }))
      await client.write(chunk(compressed.subarray(0, 100_000)))
      expect(await client.answer()).toMatchObject({ status: 413, text: '{"outcome":"too_large"}' })

      // The rest of the body is discarded, so that the connection can be used again.
      await client.write(chunk(compressed.subarray(100_000)))
      await client.write(LAST_CHUNK)
      await client.write(requestHead({ 'x-service-signature': header, 'content-length': body.length }))
      await client.write(body)
      expect(await client.answer()).toMatchObject({ status: 200, text: HANDLED })
    })
  })
})

test('@fastify/compress inflates the delivery before us and compresses the answer after us', async () => {
  const app = FASTIFY_VERSIONS[0].fastify()
  await app.register(compress, { threshold: 0 })
  mount(app)
  const { header, body } = await sign(orderCreated())
  const coded = { 'content-encoding': 'gzip', 'accept-encoding': 'gzip' }
  const response = await app.inject(injected({ header, body: gzipSync(body) }, coded))
  expect(response).toMatchObject({ statusCode: 200, headers: { 'content-encoding': 'gzip' } })
  expect(gunzipSync(response.rawPayload).toString()).toBe(HANDLED)
})
