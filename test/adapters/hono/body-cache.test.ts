import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'
import { describe, expect, test } from 'vitest'
import { orderCreated, SECRET, type SignedDelivery, sign } from '../../support/deliveries.js'
import { answerOf, requestOf } from '../../support/fetching.js'
import { type HttpAnswer, listen, post } from '../../support/http.js'
import { type Watched, watched } from '../../support/watched.js'

interface Client {
  readonly name: string
  send(app: Hono, delivery: SignedDelivery, headers: Record<string, string>): Promise<HttpAnswer>
}

const clients: readonly Client[] = [
  {
    name: 'through app.request()',
    send: async (app, delivery, headers) => answerOf(await app.request(requestOf(delivery, headers))),
  },
  {
    name: 'on a real socket',
    async send(app, { header, body }, headers) {
      const { port, close } = await listen(createAdaptorServer(app) as Server)
      try {
        return await post(port, {
          headers: { 'content-type': 'application/json', 'x-service-signature': header, ...headers },
          body,
        })
      } finally {
        await close()
      }
    },
  },
]

const HANDLED = { status: 200, text: '{"outcome":"handled"}' }
const MISCONFIGURED = { status: 500, text: '{"outcome":"misconfigured"}' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf)

describe.each(clients)('$name', ({ send }) => {
  /** An app that does something with the request before us. */
  async function afterReading(
    read: (c: Context) => unknown,
    { headers = {}, delivery }: { headers?: Record<string, string>; delivery?: SignedDelivery } = {},
  ): Promise<{ answer: HttpAnswer; seen: Watched; sent: SignedDelivery }> {
    const seen = watched()
    const app = new Hono()
    app.use(async (c, next) => {
      await read(c)
      await next()
    })
    app.post('/hooks', tixWebhooks(seen.options as Parameters<typeof tixWebhooks>[0]))
    const sent = delivery ?? (await sign(orderCreated()))
    return { answer: await send(app, sent, headers), seen, sent }
  }

  const kept: Record<string, (c: Context) => unknown> = {
    'c.req.text()': (c) => c.req.text(),
    'c.req.json()': (c) => c.req.json(),
    'c.req.arrayBuffer()': (c) => c.req.arrayBuffer(),
    'c.req.blob()': (c) => c.req.blob(),
    'c.req.text(), then json() and arrayBuffer()': async (c) => {
      await c.req.text()
      await c.req.json()
      await c.req.arrayBuffer()
    },
    'c.req.text() that nobody awaited': (c) => void c.req.text(),
    'a clone of the raw request': (c) => c.req.raw.clone().text(),
  }

  test.each(Object.keys(kept))('%s before us loses nothing', async (name) => {
    const { answer, seen, sent } = await afterReading(async (c) => kept[name]?.(c))
    expect(answer).toMatchObject(HANDLED)
    expect(seen.runs.map(({ rawBody }) => Buffer.from(rawBody))).toEqual([Buffer.from(sent.body)])
  })

  test.each([FORM, {}])('c.req.parseBody() before us loses nothing, with headers %j', async (headers) => {
    const { answer } = await afterReading((c) => c.req.parseBody(), { headers })
    expect(answer).toMatchObject(HANDLED)
  })

  const consumed: Record<string, (c: Context) => unknown> = {
    'c.req.formData()': (c) => c.req.formData(),
    'c.req.raw.text()': (c) => c.req.raw.text(),
    'c.req.raw.formData()': (c) => c.req.raw.formData(),
    'a reader of c.req.raw.body': (c) => c.req.raw.body?.getReader().read(),
  }

  test.each(Object.keys(consumed))(
    '%s before us is misconfigured, and the report has the fix',
    async (name) => {
      const { answer, seen } = await afterReading(async (c) => consumed[name]?.(c), { headers: FORM })
      expect(answer).toMatchObject(MISCONFIGURED)
      expect(seen.reports).toEqual([
        expect.stringMatching(/already read.+form.+c\.req\.raw.+mount.+before it.+c\.req\.arrayBuffer\(\)/s),
      ])
      expect(seen.runs).toEqual([])
    },
  )

  test('a form that was read as text afterwards is misconfigured too: that text was made from the form', async () => {
    const { answer } = await afterReading(
      async (c) => {
        await c.req.formData()
        await c.req.text()
      },
      { headers: FORM },
    )
    expect(answer).toMatchObject(MISCONFIGURED)
  })

  test('bytes with a byte order mark are kept by c.req.arrayBuffer() before us', async () => {
    const delivery = await sign(Buffer.concat([BOM, Buffer.from(JSON.stringify(orderCreated()))]))
    const { answer } = await afterReading((c) => c.req.arrayBuffer(), { delivery })
    expect(answer).toMatchObject(HANDLED)
  })

  test.each(['text', 'json', 'text, then arrayBuffer'])(
    'a byte order mark that was dropped by reading as %s is named in the report',
    async (how) => {
      const delivery = await sign(Buffer.concat([BOM, Buffer.from(JSON.stringify(orderCreated()))]))
      const read = async (c: Context): Promise<void> => {
        await (how === 'json' ? c.req.json() : c.req.text())
        if (how.includes('arrayBuffer')) await c.req.arrayBuffer()
      }
      const { answer, seen } = await afterReading(read, { delivery })
      expect(answer).toMatchObject({ status: 401, text: '{"outcome":"unauthenticated"}' })
      expect(seen.reports).toEqual([expect.stringMatching(/byte order mark.+c\.req\.arrayBuffer\(\)/s)])
    },
  )

  test('a body that was read before us is held to maxBodyBytes', async () => {
    const seen = watched({ maxBodyBytes: 50 })
    const app = new Hono()
    app.use(async (c, next) => {
      await c.req.text()
      await next()
    })
    app.post('/hooks', tixWebhooks(seen.options as Parameters<typeof tixWebhooks>[0]))
    expect(await send(app, await sign(orderCreated()), {})).toMatchObject({ status: 413 })
  })

  test('a middleware after us still reads the body, as it likes', async () => {
    const read: unknown[] = []
    const seen = watched()
    const app = new Hono()
    app.use(async (c, next) => {
      await next()
      read.push(await c.req.text(), await c.req.json(), Buffer.from(await c.req.arrayBuffer()).toString())
      read.push(await (await c.req.blob()).text())
    })
    app.post('/hooks', tixWebhooks(seen.options as Parameters<typeof tixWebhooks>[0]))
    const order = orderCreated()
    expect(await send(app, await sign(order), {})).toMatchObject(HANDLED)
    const text = JSON.stringify(order)
    expect(read).toEqual([text, order, text, text])
  })

  test('what a handler does to the cached body leaves ctx.rawBody alone', async () => {
    const rawBodies: string[] = []
    const app = new Hono()
    app.post(
      '/hooks',
      tixWebhooks({
        secret: SECRET,
        on: {
          'order.created': async (_event, { request: c, rawBody }) => {
            new Uint8Array(await c.req.arrayBuffer()).fill(0)
            rawBodies.push(Buffer.from(rawBody).toString())
          },
        },
      }),
    )
    const order = orderCreated()
    expect(await send(app, await sign(order), {})).toMatchObject(HANDLED)
    expect(rawBodies).toEqual([JSON.stringify(order)])
  })
})
