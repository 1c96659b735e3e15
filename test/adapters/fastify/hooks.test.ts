import { PassThrough, Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { tixWebhooks } from 'tix-webhooks/fastify'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { FASTIFY_VERSIONS, injected, listenTo } from '../../support/fastify.js'
import { dial, post, requestHead } from '../../support/http.js'
import { deferred, turns } from '../../support/promises.js'
import { watched } from '../../support/watched.js'

const on = { 'order.created': () => {} }
const HANDLED = '{"outcome":"handled"}'

describe.each(FASTIFY_VERSIONS)('Fastify $version', ({ fastify }) => {
  describe('hooks', () => {
    test('those before and after the parsing run; those that would see a parsed body do not', async () => {
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
      app.post(
        '/hooks',
        tixWebhooks({ secret: SECRET, on: { 'order.created': () => ran.push('our handler') } }),
      )
      const { header, body } = await sign(orderCreated())
      await post(await listenTo(app), { headers: { 'x-service-signature': header }, body })
      await responded.promise
      expect(ran).toEqual(['onRequest', 'preParsing', 'our handler', 'onSend', 'onResponse'])
    })

    test('an onRequest hook that answers keeps the delivery from us', async () => {
      const { options, records } = watched()
      const app = fastify()
      app.addHook('onRequest', async (_request, reply) => reply.code(418).send('teapot'))
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on }))
      expect(await app.inject(injected(await sign(orderCreated())))).toMatchObject({ statusCode: 418 })
      expect(records).toEqual([])
    })

    test.each([
      ['without an onSend hook', false],
      ['while its async onSend hook runs', true],
    ])('an answer that a handler sends itself is left alone, and reported: %s', async (_, isHooked) => {
      const { options, records, reports } = watched({
        on: {
          'order.created': () => {
            replies[0]?.code(202).send('mine')
          },
        },
      })
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
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET }))
      const answer = await app.inject(injected(await sign(orderCreated())))
      expect(answer).toMatchObject({ statusCode: 202, body: 'mine' })
      await turns(5)
      expect(sent).toEqual(isHooked ? ['mine'] : [])
      expect(records).toMatchObject([{ outcome: 'handled' }])
      expect(reports).toEqual([expect.stringMatching(/ended as handled, but .* already been answered/)])
      // Fastify warns of a reply that is sent twice.
      expect(warnings).toEqual([])
    })

    test('an onSend hook may make a stream of the answer', async () => {
      const app = fastify()
      app.addHook('onSend', async (_request, reply, payload) => {
        reply.removeHeader('content-length')
        return Readable.from([payload])
      })
      app.post('/hooks', tixWebhooks({ secret: SECRET, on }))
      const { headers, payload } = injected(await sign(orderCreated()))
      const answer = await post(await listenTo(app), { headers, body: payload })
      expect(answer).toMatchObject({
        status: 200,
        text: HANDLED,
        headers: { 'transfer-encoding': 'chunked' },
      })
    })

    test('a slow async onSend hook gets the answer once, and it is sent once', async () => {
      const seen: unknown[] = []
      const entered = deferred()
      const go = deferred()
      const { options, records, reports } = watched({ on })
      const app = fastify()
      app.addHook('onSend', async (_request, reply, payload) => {
        seen.push([reply.statusCode, payload])
        entered.resolve()
        await go.promise
        return payload
      })
      app.post('/hooks', tixWebhooks({ ...options, on }))
      const answering = app.inject(injected(await sign(orderCreated())))
      await entered.promise
      // Fastify would go on to its parser and its handler by then, if it thought that nobody had answered.
      await turns(5)
      go.resolve()
      expect(await answering).toMatchObject({ statusCode: 200, body: HANDLED })
      expect(seen).toEqual([[200, HANDLED]])
      expect(records).toHaveLength(1)
      expect(reports).toEqual([])
    })

    test('a client that leaves while an async onSend hook runs makes no second record', async () => {
      const entered = deferred()
      const go = deferred()
      const { options, records, reports } = watched()
      const app = fastify()
      app.addHook('onSend', async (_request, _reply, payload) => {
        entered.resolve()
        await go.promise
        return payload
      })
      const gone = deferred()
      app.addHook('onRequest', async (_request, reply) => void reply.raw.on('close', gone.resolve))
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on }))
      const { header } = await sign('')
      const client = await dial(await listenTo(app))
      await client.write(requestHead({ 'x-service-signature': header, 'content-length': 0 }))
      await entered.promise
      client.destroy()
      await gone.promise
      await turns(5)
      go.resolve()
      expect(records.map(({ outcome }) => outcome)).toEqual(['unprocessable'])
      expect(reports).toHaveLength(1)
    })

    test('a client that leaves while it sends is recorded as incomplete, and the app lives on', async () => {
      const { options, recorded, records, runs } = watched()
      const app = fastify()
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET }))
      const port = await listenTo(app)
      const { header, body } = await sign(orderCreated())
      const client = await dial(port)
      await client.write(
        requestHead({ 'x-service-signature': header, 'content-length': body.length, expect: '100-continue' }),
      )
      await client.continued()
      await client.write(body.subarray(0, 20))
      client.destroy()
      await recorded(1)
      expect(records).toMatchObject([{ outcome: 'incomplete', code: 'body_incomplete' }])
      expect(runs).toEqual([])

      const answer = await post(port, { headers: { 'x-service-signature': header }, body })
      expect(answer).toMatchObject({ status: 200, text: HANDLED })
    })
  })

  describe('bytes that are gone', () => {
    const consumers = {
      'an onRequest hook': (app: FastifyInstance) =>
        app.addHook('onRequest', async (request) => {
          for await (const _chunk of request.raw);
        }),
      'a preParsing hook': (app: FastifyInstance) =>
        app.addHook('preParsing', async (_request, _reply, payload) => {
          for await (const _chunk of payload);
          return payload
        }),
    }

    test.each(Object.entries(consumers))(
      '%s that consumes the payload is misconfigured',
      async (_name, consume) => {
        const errors: unknown[] = []
        const app = fastify()
        consume(app)
        app.post('/hooks', tixWebhooks({ secret: SECRET, on, onError: (error) => errors.push(error) }))
        const delivery = injected(await sign(orderCreated()))
        const answer = await post(await listenTo(app), { headers: delivery.headers, body: delivery.payload })
        expect(answer).toMatchObject({ status: 500, text: '{"outcome":"misconfigured"}' })
        expect(await app.inject(delivery)).toMatchObject({
          statusCode: 500,
          body: '{"outcome":"misconfigured"}',
        })
        for (const error of errors) {
          expect(error).toMatchObject({
            code: 'misconfigured',
            message: expect.stringMatching(/already read.+hook or plugin before/s),
          })
        }
        expect(errors).toHaveLength(2)
      },
    )

    test.each(['before', 'while'])(
      'a payload that is destroyed %s we read it is incomplete at once',
      async (when) => {
        const { options, reports } = watched({ timeoutSeconds: 2 })
        const app = fastify()
        app.addHook('preParsing', async (_request, _reply, payload) => {
          const through = payload.pipe(new PassThrough())
          const destroy = (): unknown => through.destroy()
          if (when === 'before') destroy()
          else setImmediate(destroy)
          return through
        })
        app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on }))
        const { header } = await sign('')
        const client = await dial(await listenTo(app))
        await client.write(requestHead({ 'x-service-signature': header, 'content-length': 100 }))
        expect(await client.answer()).toMatchObject({ status: 400, text: '{"outcome":"incomplete"}' })
        expect(reports).toEqual([expect.stringContaining('client went away')])
        client.destroy()
      },
    )

    test('a preParsing hook that reads the payload and passes its bytes on loses nothing', async () => {
      const app = fastify()
      app.addHook('preParsing', async (_request, _reply, payload) => {
        const chunks: Uint8Array[] = []
        for await (const chunk of payload) chunks.push(chunk as Uint8Array)
        return Readable.from(chunks)
      })
      app.post('/hooks', tixWebhooks({ secret: SECRET, on }))
      const response = await app.inject(injected(await sign(orderCreated())))
      expect(response).toMatchObject({ statusCode: 200, body: '{"outcome":"handled"}' })
    })

    test('without its preParsing hook the parsed body is refused: never a 2xx', async () => {
      const errors: unknown[] = []
      const ran = vi.fn()
      const app = fastify()
      const { preParsing: _taken, ...rest } = tixWebhooks({
        secret: SECRET,
        on: { 'order.created': ran },
        onError: (error) => errors.push(error),
      })
      app.post('/hooks', rest)
      const response = await app.inject(injected(await sign(orderCreated())))
      expect(response).toMatchObject({ statusCode: 500, body: '{"outcome":"misconfigured"}' })
      expect(errors).toEqual([
        expect.objectContaining({
          code: 'misconfigured',
          message: expect.stringMatching(/preParsing.+did not run.+app\.post/s),
        }),
      ])
      expect(ran).not.toHaveBeenCalled()
    })
  })
})
