import type { Server } from 'node:http'
import { gzipSync } from 'node:zlib'
import { createAdaptorServer } from '@hono/node-server'
import { Hono, type MiddlewareHandler } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'
import { signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { type HttpAnswer, listen, post } from '../../support/http.js'

const SECRET = 'whsec_test'
const MAX_BYTES = 10_000

/** Puts a body of its own in the place of the one that was sent, which its `content-length` still speaks of. */
function replacing(
  make: (body: ReadableStream<Uint8Array<ArrayBuffer>>) => ReadableStream,
): MiddlewareHandler {
  return (c, next) => {
    const { raw } = c.req
    const body = make(raw.body as ReadableStream<Uint8Array<ArrayBuffer>>)
    const init = { method: 'POST', headers: raw.headers, body, duplex: 'half' }
    c.req.raw = new Request(raw.url, init as RequestInit)
    return next()
  }
}

const inflating = replacing((body) => body.pipeThrough(new DecompressionStream('gzip')))

async function send(
  before: MiddlewareHandler,
  header: string,
  body: Uint8Array | string,
): Promise<HttpAnswer> {
  const app = new Hono()
  const errors: unknown[] = []
  app.use(before)
  app.post(
    '/hooks',
    tixWebhooks({
      secret: SECRET,
      maxBodyBytes: MAX_BYTES,
      on: { 'order.created': () => {} },
      onError: (error) => errors.push(error),
    }),
  )
  const server = await listen(createAdaptorServer(app) as Server)
  try {
    return await post(server.port, { headers: { 'x-service-signature': header }, body })
  } finally {
    await server.close()
  }
}

describe('Hono on Node, where a middleware has the body first', () => {
  test('the bytes that it puts in their place are the ones that are verified', async () => {
    const { body, header } = await signedDelivery('order.created', { secret: SECRET })
    expect((await send(inflating, header, gzipSync(body))).status).toBe(200)
  })

  test('a bomb is read no further than to the limit, though the bytes that were sent are few', async () => {
    const { body, header } = await signedDelivery('order.created', { secret: SECRET })
    let chunks = 0
    const bomb = replacing(
      () =>
        new ReadableStream({
          pull(controller) {
            chunks += 1
            if (chunks > 100) controller.close()
            else controller.enqueue(new Uint8Array(1_000))
          },
        }),
    )
    expect((await send(bomb, header, body)).status).toBe(413)
    expect(chunks).toBeLessThan(20)
  })

  test('bytes that it only passes on are verified', async () => {
    const { body, header } = await signedDelivery('order.created', { secret: SECRET })
    expect(
      (
        await send(
          replacing((stream) => stream),
          header,
          body,
        )
      ).status,
    ).toBe(200)
  })

  test('a body that it has looked at and left alone is verified', async () => {
    const { body, header } = await signedDelivery('order.created', { secret: SECRET })
    const looking: MiddlewareHandler = (c, next) => {
      expect(c.req.raw.body).not.toBeNull()
      return next()
    }
    expect((await send(looking, header, body)).status).toBe(200)
  })

  test('bytes that it has taken through c.req.raw are gone', async () => {
    const { body, header } = await signedDelivery('order.created', { secret: SECRET })
    const taking: MiddlewareHandler = async (c, next) => {
      await c.req.raw.arrayBuffer()
      return next()
    }
    const answer = await send(taking, header, body)
    expect([answer.status, answer.text]).toEqual([500, '{"outcome":"misconfigured"}'])
  })

  test('a body that it has begun to read is not ours to read', async () => {
    const { body, header } = await signedDelivery('order.created', { secret: SECRET })
    const holding: MiddlewareHandler = (c, next) => {
      c.req.raw.body?.getReader()
      return next()
    }
    expect((await send(holding, header, body)).text).toBe('{"outcome":"misconfigured"}')
  })
})
