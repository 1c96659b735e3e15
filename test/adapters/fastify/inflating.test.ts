import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { createGunzip, gunzipSync, gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance } from 'fastify'
import { tixWebhooks } from 'tix-webhooks/fastify'
import { describe, expect, test } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { FASTIFY_VERSIONS, injected, listenTo } from '../../support/fastify.js'
import { chunk, dial, LAST_CHUNK, post, requestHead } from '../../support/http.js'
import { turns } from '../../support/promises.js'
import { watched } from '../../support/watched.js'

const on = { 'order.created': () => {} }
const HANDLED = '{"outcome":"handled"}'

describe.each(FASTIFY_VERSIONS)('Fastify $version', ({ fastify }) => {
  describe('a layer that inflates before us', () => {
    /** An app that inflates in a hook, without a plugin. */
    const inflating = (gunzip = createGunzip()): FastifyInstance => {
      const app = fastify()
      app.addHook('preParsing', async (request, _reply, payload) =>
        request.headers['content-encoding'] === 'gzip' ? payload.pipe(gunzip) : payload,
      )
      return app
    }

    test('the signature is checked over the plain bytes', async () => {
      const { options, runs } = watched()
      const app = inflating()
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET }))
      const { header, body } = await sign(orderCreated())
      const delivery = injected({ header, body: gzipSync(body) }, { 'content-encoding': 'gzip' })
      expect(await app.inject(delivery)).toMatchObject({ statusCode: 200, body: HANDLED })
      expect(runs.map(({ rawBody }) => Buffer.from(rawBody))).toEqual([Buffer.from(body)])
    })

    test('a body that is not what its content-encoding says is incomplete', async () => {
      const { options } = watched()
      const app = inflating()
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on }))
      const delivery = injected(await sign(orderCreated()), { 'content-encoding': 'gzip' })
      expect(await app.inject(delivery)).toMatchObject({ statusCode: 400, body: '{"outcome":"incomplete"}' })
    })

    test('a body that we answer without reading cannot take the process down, though it does not inflate', async () => {
      const { options, records } = watched()
      const gunzip = createGunzip()
      const failed = new Promise((resolve) => gunzip.on('close', resolve))
      const app = inflating(gunzip)
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on }))
      const port = await listenTo(app)
      const headers = { 'content-encoding': 'gzip' }
      expect(await post(port, { headers, body: 'hello' })).toMatchObject({ status: 400 })
      expect(records).toMatchObject([{ code: 'header_missing' }])
      // Its error comes after the answer; with nobody to hear it, vitest would report it as uncaught.
      await failed
      expect(gunzip.errored).toMatchObject({ code: 'Z_DATA_ERROR' })
    })

    test('without such a layer the mismatch names the content-encoding', async () => {
      const { options, reports } = watched()
      const app = fastify()
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on }))
      const { header, body } = await sign(orderCreated())
      const delivery = injected({ header, body: gzipSync(body) }, { 'content-encoding': 'gzip' })
      expect(await app.inject(delivery)).toMatchObject({ statusCode: 401 })
      expect(reports).toEqual([expect.stringContaining('content-encoding: gzip')])
    })

    test('a small body that inflates beyond maxBodyBytes is refused', async () => {
      const { options, records, reports } = watched()
      const app = inflating()
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on, maxBodyBytes: 100_000 }))
      const bomb = { header: (await sign('x')).header, body: gzipSync(Buffer.alloc(20_000_000)) }
      expect(bomb.body.length).toBeLessThan(100_000)
      const response = await app.inject(injected(bomb, { 'content-encoding': 'gzip' }))
      expect(response).toMatchObject({ statusCode: 413, body: '{"outcome":"too_large"}' })
      expect(records).toMatchObject([{ outcome: 'too_large', code: 'too_large' }])
      expect(reports).toEqual([expect.stringContaining('larger than 100000 bytes')])
    })

    test('once a body is refused, nothing more is inflated only to be thrown away', async () => {
      const { options } = watched()
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
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on, maxBodyBytes: 100_000 }))
      expect(await app.inject(injected(await sign(orderCreated())))).toMatchObject({ statusCode: 413 })
      await turns(10)
      expect(pulled).toBeLessThan(20)
    })

    test('a client that is refused while it sends a compressed body sees the answer', async () => {
      const { options } = watched()
      const app = inflating()
      app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on, maxBodyBytes: 1000 }))
      const { header, body } = await sign(orderCreated())
      const client = await dial(await listenTo(app))
      // Noise, which does not shrink: more than what the buffers in between hold.
      const compressed = gzipSync(randomBytes(8_000_000))
      const coded = { 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' }
      await client.write(requestHead({ 'x-service-signature': header, ...coded }))
      await client.write(chunk(compressed.subarray(0, 100_000)))
      expect(await client.answer()).toMatchObject({ status: 413, text: '{"outcome":"too_large"}' })

      // The rest of the body is discarded, so that the connection can be used again.
      await client.write(chunk(compressed.subarray(100_000)))
      await client.write(LAST_CHUNK)
      await client.write(requestHead({ 'x-service-signature': header, 'content-length': body.length }))
      await client.write(body)
      expect(await client.answer()).toMatchObject({ status: 200, text: HANDLED })
    }, 5_000)
  })
})

describe('@fastify/compress (Fastify 5)', () => {
  const [{ fastify }] = FASTIFY_VERSIONS

  test('inflates the delivery before us and compresses the answer after us', async () => {
    const app = fastify()
    await app.register(compress, { threshold: 0 })
    app.post('/hooks', tixWebhooks({ secret: SECRET, on }))
    const { header, body } = await sign(orderCreated())
    const coded = { 'content-encoding': 'gzip', 'accept-encoding': 'gzip' }
    const port = await listenTo(app)
    const headers = injected({ header, body }, coded).headers
    const response = await app.inject(injected({ header, body: gzipSync(body) }, coded))
    expect(response).toMatchObject({ statusCode: 200, headers: { 'content-encoding': 'gzip' } })
    expect(gunzipSync(response.rawPayload).toString()).toBe(HANDLED)

    const again = await post(port, { headers, body: gzipSync(body) })
    expect(again).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip' } })
  })

  test('its own refusal of a coding that it does not know is an answer too', async () => {
    const { options, records } = watched()
    const app = fastify()
    await app.register(compress)
    app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on }))
    const delivery = injected(await sign(orderCreated()), { 'content-encoding': 'lzma' })
    expect(await app.inject(delivery)).toMatchObject({ statusCode: 415 })
    expect(records).toEqual([])
  })

  test('maxBodyBytes counts the inflated bytes', async () => {
    const { options } = watched()
    const app = fastify()
    await app.register(compress)
    app.post('/hooks', tixWebhooks({ ...options, secret: SECRET, on, maxBodyBytes: 10_000 }))
    const delivery = injected(
      { header: (await sign('x')).header, body: gzipSync(Buffer.alloc(1_000_000)) },
      { 'content-encoding': 'gzip' },
    )
    expect(await app.inject(delivery)).toMatchObject({ statusCode: 413, body: '{"outcome":"too_large"}' })
  })
})
