import { gzipSync } from 'node:zlib'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { EXPRESS_VERSIONS, type ExpressApp, expressApp } from '../../support/express.js'
import { post } from '../../support/http.js'
import { assertAnswer, deliver } from '../../support/raw-bytes-harness.js'

const utf8 = new TextEncoder()
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf)
const PRETTY =
  '{ "data": {"event" : {"title": "caf\\u00e9"}},\n\t"type":"event.published", "created_at": "" }'

/** The usual `verify` option of `express.json()` that keeps the bytes. */
function keepAs(keep: (bytes: Buffer) => Buffer | string) {
  return (request: unknown, _response: unknown, bytes: Buffer): void => {
    ;(request as { rawBody?: unknown }).rawBody = keep(bytes)
  }
}

describe.each(EXPRESS_VERSIONS)('a body parser before us in Express $version', ({ express }) => {
  const behind = (...parsers: RequestHandler[]): Promise<ExpressApp> =>
    expressApp(express, (app, hooks) => {
      for (const parser of parsers) app.use(parser)
      app.post('/hooks', hooks)
    })

  describe.each<[string, () => RequestHandler]>([
    ['express.raw()', () => express.raw({ type: '*/*' })],
    ['express.text()', () => express.text({ type: '*/*' })],
    ['express.json() that keeps a Buffer', () => express.json({ verify: keepAs((bytes) => bytes) })],
    ['express.json() that keeps a string', () => express.json({ verify: keepAs(String) })],
  ])('%s', (_, parser) => {
    test('keeps what was sent: it is handled over its exact bytes, and a forgery is refused', async () => {
      const app = await behind(parser())
      const delivery = await sign(PRETTY)
      assertAnswer(await deliver(app.port, delivery), 200, 'handled')
      expect(Buffer.from(app.runs[0]?.rawBody ?? []).toString()).toBe(PRETTY)
      const forged = { ...delivery, body: utf8.encode(PRETTY.replace('title', 'titel')) }
      assertAnswer(await deliver(app.port, forged), 401, 'unauthenticated')
      expect(app.runs).toHaveLength(1)
    })

    test('does not lift the limit', async () => {
      const app = await expressApp(
        express,
        (app, hooks) => {
          app.use(parser())
          app.post('/hooks', hooks)
        },
        { maxBodyBytes: 100 },
      )
      assertAnswer(await deliver(app.port, await sign(orderCreated())), 413, 'too_large')
    })

    test('keeps the body; an error that the request emits later does not end the process', async () => {
      let emitted: unknown
      const app = await behind(parser(), (request, response, next) => {
        response.on('finish', () => {
          try {
            emitted = request.emit('error', new Error('late'))
          } catch (error) {
            emitted = error
          }
        })
        next()
      })
      assertAnswer(await deliver(app.port, await sign(PRETTY)), 200, 'handled')
      await vi.waitFor(() => expect(emitted).toBe(true))
    })

    test('finds no body where none was sent, and we neither', async () => {
      const app = await behind(parser())
      const { header } = await sign('')
      const answer = await post(app.port, { headers: { 'x-service-signature': header } })
      assertAnswer(answer, 500, 'unprocessable')
      expect(app.reports).toEqual([expect.stringMatching(/it is empty/)])
    })
  })

  test.each<[string, () => Buffer | string]>([
    ['string', () => ''],
    ['Buffer', () => Buffer.alloc(0)],
  ])('an empty %s as rawBody, to be filled while the body comes, is not taken for it', async (_, empty) => {
    const app = await behind((request, _response, next) => {
      const kept = Object.assign(request, { rawBody: empty() })
      request.on('data', (chunk) => {
        kept.rawBody += chunk
      })
      next()
    })
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 200, 'handled')
  })

  test.each<[string, (request: Request) => void]>([
    ['pauses the request', (request) => void process.nextTick(() => request.pause())],
    ["listens for its 'readable' event", (request) => void request.on('readable', () => {})],
  ])('a middleware that %s is named where the body is incomplete at the deadline', async (_, holdUp) => {
    const app = await expressApp(
      express,
      (app, hooks) => {
        app.use((request, _response, next) => {
          holdUp(request)
          next()
        })
        app.post('/hooks', hooks)
      },
      { timeoutSeconds: 0.2 },
    )
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 400, 'incomplete')
    expect(app.reports).toEqual([expect.stringMatching(/in this app has paused the request/)])
  })

  test('express.raw() leaves a byte order mark and invalid UTF-8 as they are', async () => {
    const app = await behind(express.raw({ type: '*/*' }))
    const marked = Buffer.concat([BOM, utf8.encode(JSON.stringify(orderCreated()))])
    assertAnswer(await deliver(app.port, await sign(marked)), 200, 'handled')
    assertAnswer(await deliver(app.port, await sign(Uint8Array.of(0xff))), 500, 'unprocessable')
  })

  test('express.text() drops a byte order mark: refused, and the report names it', async () => {
    const app = await behind(express.text({ type: '*/*' }))
    const marked = Buffer.concat([BOM, utf8.encode(JSON.stringify(orderCreated()))])
    assertAnswer(await deliver(app.port, await sign(marked)), 401, 'unauthenticated')
    expect(app.reports).toEqual([expect.stringMatching(/byte order mark: use express\.raw\(/)])
  })

  test('a rawBody that was made a string has lost invalid UTF-8: refused, and the report says why', async () => {
    const body = utf8.encode(JSON.stringify({ ...orderCreated(), note: '?' }))
    body[body.lastIndexOf(0x3f)] = 0xff
    const app = await behind(express.json({ verify: keepAs(String) }))
    assertAnswer(await deliver(app.port, await sign(body)), 401, 'unauthenticated')
    expect(app.reports).toEqual([expect.stringMatching(/read as text before tixWebhooks.*express\.raw\(/)])
  })

  test.each<[string, string, () => RequestHandler]>([
    ['express.json()', 'application/json', () => express.json()],
    ['express.json()', 'application/json', () => express.json({ type: () => true })],
    [
      'express.urlencoded()',
      'application/x-www-form-urlencoded',
      () => express.urlencoded({ extended: true }),
    ],
    ['a body parser', 'text/plain', () => express.json({ type: () => true })],
    ['a body parser', 'text/plain', () => consume],
  ])(
    '%s uses up a body of %s: misconfigured, signed or forged, and the report shows the fix',
    async (name, contentType, parser) => {
      const app = await behind(parser())
      const delivery = await sign(orderCreated())
      const forged = { ...delivery, body: utf8.encode(JSON.stringify(orderCreated())) }
      for (const each of [delivery, forged]) {
        const answer = await deliver(app.port, each, { headers: { 'content-type': contentType } })
        assertAnswer(answer, 500, 'misconfigured')
      }
      expect(app.runs).toEqual([])
      expect(app.records).toMatchObject([
        { outcome: 'misconfigured', code: 'misconfigured' },
        { outcome: 'misconfigured', code: 'misconfigured' },
      ])
      for (const report of app.reports) {
        expect(report).toContain(`Most likely it was ${name}, mounted before tixWebhooks`)
        expect(report).toContain(
          name === 'a body parser' ? 'route before it' : `route before app.use(${name})`,
        )
        const keeper = name === 'express.urlencoded()' ? 'express.urlencoded' : 'express.json'
        expect(report).toContain(`${keeper}({ verify: (req, res, buffer) => { req.rawBody = buffer } })`)
      }
      expect(app.reports).toHaveLength(2)
    },
  )

  test('where NestJS may have mounted the parser, the report shows the two ways of NestJS first', async () => {
    // Another file of the same worker may have loaded reflect-metadata.
    const loaded = Object.getOwnPropertyDescriptor(Reflect, 'getMetadata')
    Reflect.set(Reflect, 'getMetadata', () => undefined)
    onTestFinished(() => {
      Reflect.deleteProperty(Reflect, 'getMetadata')
      if (loaded !== undefined) Object.defineProperty(Reflect, 'getMetadata', loaded)
    })
    const app = await behind(express.json())
    const headers = { 'content-type': 'application/json' }
    assertAnswer(await deliver(app.port, await sign(orderCreated()), { headers }), 500, 'misconfigured')
    expect(app.reports).toEqual([
      expect.stringMatching(
        /In NestJS call app\.use\(.+before app\.listen\(\).+\{ rawBody: true \}.+Elsewhere/,
      ),
    ])
  })

  test('an unsigned request is refused as such, whatever became of its body', async () => {
    const app = await behind(express.json())
    const answer = await post(app.port, { headers: { 'content-type': 'application/json' }, body: '{}' })
    assertAnswer(answer, 400, 'malformed')
  })

  test.each(['text/plain', 'image/png'])(
    'a body of %s passes express.json() and express.urlencoded() unread, and is handled',
    async (contentType) => {
      const app = await behind(express.json(), express.urlencoded({ extended: true }))
      const delivery = await sign(PRETTY)
      const answer = await deliver(app.port, delivery, { headers: { 'content-type': contentType } })
      assertAnswer(answer, 200, 'handled')
      expect(Buffer.from(app.runs[0]?.rawBody ?? []).toString()).toBe(PRETTY)
    },
  )

  test('a middleware that takes its time and sets a body of its own leaves the stream to us', async () => {
    const app = await behind((request, _response, next) => {
      request.body = {}
      setImmediate(next)
    })
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 200, 'handled')
  })

  test('a middleware that read the beginning of the stream has taken it: misconfigured', async () => {
    const app = await behind((request, _response, next) => {
      request.once('data', () => {
        request.pause()
        next()
      })
    })
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 500, 'misconfigured')
  })

  test('a middleware that paused the stream has not read it: it is handled', async () => {
    const app = await expressApp(
      express,
      (app, hooks) => {
        app.use((request, _response, next) => {
          request.pause()
          next()
        })
        app.post('/hooks', hooks)
      },
      { timeoutSeconds: 2 },
    )
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 200, 'handled')
  })

  describe('that inflates', () => {
    const gzipped = async (): Promise<{ header: string; body: Uint8Array; plain: string }> => {
      const { header, body } = await sign(PRETTY)
      return { header, body: gzipSync(body), plain: PRETTY }
    }
    const headers = { 'content-encoding': 'gzip' }

    test('express.raw() hands on the plain bytes: a signature over them holds', async () => {
      const app = await behind(express.raw({ type: '*/*' }))
      const { plain, ...delivery } = await gzipped()
      assertAnswer(await deliver(app.port, delivery, { headers }), 200, 'handled')
      expect(Buffer.from(app.runs[0]?.rawBody ?? []).toString()).toBe(plain)
    })

    test('express.raw() has inflated what was signed compressed: refused, and the report names content-encoding', async () => {
      const app = await behind(express.raw({ type: '*/*' }))
      const delivery = await sign(gzipSync(PRETTY))
      assertAnswer(await deliver(app.port, delivery, { headers }), 401, 'unauthenticated')
      expect(app.reports).toEqual([expect.stringMatching(/content-encoding: gzip/)])
    })

    test('express.json() that keeps the bytes keeps the plain ones', async () => {
      const app = await behind(express.json({ verify: keepAs((bytes) => bytes) }))
      assertAnswer(await deliver(app.port, await gzipped(), { headers }), 200, 'handled')
    })

    test('express.json() uses the body up: misconfigured', async () => {
      const app = await behind(express.json())
      assertAnswer(await deliver(app.port, await gzipped(), { headers }), 500, 'misconfigured')
      expect(app.reports).toEqual([expect.stringMatching(/Most likely it was express\.json\(\)/)])
    })
  })

  test('a parser after us serves the other routes, also after a delivery', async () => {
    const app = await expressApp(express, (app, hooks) => {
      app.post('/hooks', hooks)
      app.use(express.json())
      app.post('/orders', (request, response) => {
        response.json({ got: request.body })
      })
    })
    assertAnswer(await deliver(app.port, await sign(orderCreated())), 200, 'handled')
    const headers = { 'content-type': 'application/json' }
    const answer = await post(app.port, { path: '/orders', headers, body: '{"seat":1}' })
    expect(answer).toMatchObject({ status: 200, text: '{"got":{"seat":1}}' })
  })
})

async function consume(request: Request, _response: Response, next: NextFunction): Promise<void> {
  for await (const _chunk of request) {
    // Nothing is kept.
  }
  next()
}
