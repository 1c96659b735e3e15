import assert from 'node:assert/strict'
import { orderCreated, type SignedDelivery, sign } from './deliveries.js'
import { chunk, dial, LAST_CHUNK, pieces, post, requestHead } from './http.js'
import { heldBeyond, usedMemory } from './memory.js'
import { deferred } from './promises.js'
import {
  assertAnswer,
  assertEnd,
  assertServes,
  deliver,
  jsonHeaders,
  onApp,
  orderOf,
  type RawBytesCase,
} from './raw-bytes-harness.js'

const DECLARED = 'with its length declared'
const CHUNKED = 'chunked'

/** The head of a delivery, and its body as sent over the wire, split in two. */
function halves({ header, body }: SignedDelivery, how: string, extra: Record<string, string> = {}) {
  const middle = Math.floor(body.length / 2)
  const parts = [body.subarray(0, middle), body.subarray(middle)] as const
  const isChunked = how === CHUNKED
  const framing = isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': body.length }
  return {
    head: requestHead({ ...jsonHeaders(header), ...framing, ...extra }),
    first: isChunked ? chunk(parts[0]) : parts[0],
    second: isChunked ? Buffer.concat([chunk(parts[1]), Buffer.from(LAST_CHUNK)]) : parts[1],
  }
}

/** Clients that are slow or disconnect. */
const clientCases: readonly RawBytesCase[] = [
  ...[DECLARED, CHUNKED].flatMap((how) => [
    onApp(`a body that comes in two parts, ${how}, is handled when the second is there`, {}, async (app) => {
      const client = await dial(app.port)
      const { head, first, second } = halves(await sign(orderCreated()), how, { expect: '100-continue' })
      await client.write(head)
      await client.continued()
      await client.write(first)
      await client.write(second)
      assertAnswer(await client.answer(), 200, 'handled')
      assertEnd(app, 'handled')
      client.destroy()
    }),

    onApp(
      `a client that goes away in the middle of its body, ${how}, is recorded as incomplete`,
      {},
      async (app) => {
        const delivery = await sign(orderCreated())
        const client = await dial(app.port)
        const { head, first } = halves(delivery, how, { expect: '100-continue' })
        await client.write(head)
        await client.continued()
        await client.write(first)
        client.destroy()
        await app.recorded(1)
        assertEnd(app, 'incomplete', 'body_incomplete')
        assert.match(app.reports.join(), /client went away/)
        await assertServes(app, delivery)
      },
    ),

    onApp(
      `a client that stops sending, ${how}, is answered at the deadline and cut off`,
      { timeoutSeconds: 0.3 },
      async (app) => {
        const delivery = await sign(orderCreated())
        const client = await dial(app.port)
        const { head, first } = halves(delivery, how)
        await client.write(head)
        await client.write(first)
        const answer = await client.answer()
        assertAnswer(answer, 400, 'incomplete')
        assert.equal(answer.headers.connection, 'close')
        await client.closed
        assertEnd(app, 'incomplete', 'body_incomplete')
        assert.match(app.reports.join(), /too slow.*timeoutSeconds/)
        await assertServes(app, delivery)
      },
    ),
  ]),

  onApp(
    'a client that keeps sending a byte at a time is answered at the deadline and cut off',
    { timeoutSeconds: 0.3 },
    async (app) => {
      const delivery = await sign(orderCreated())
      const client = await dial(app.port)
      await client.write(
        requestHead({ ...jsonHeaders(delivery.header), 'content-length': delivery.body.length }),
      )
      let at = 0
      const trickle = setInterval(() => {
        void client.write(delivery.body.subarray(at, at + 1))
        at += 1
      }, 25)
      try {
        assertAnswer(await client.answer(), 400, 'incomplete')
        await client.closed
      } finally {
        clearInterval(trickle)
      }
      assertEnd(app, 'incomplete', 'body_incomplete')
      await assertServes(app, delivery)
    },
  ),

  onApp('a client whose header is malformed is answered before it has sent its body', {}, async (app) => {
    const client = await dial(app.port)
    await client.write(halves({ header: 'nonsense', body: new Uint8Array(100) }, DECLARED).head)
    assertAnswer(await client.answer(), 400, 'malformed')
    assertEnd(app, 'malformed', 'header_malformed')
    client.destroy()
  }),

  {
    name: 'a client that goes away while the handler runs costs nothing: the run counts, and the retry is a duplicate',
    async run(harness) {
      const delivery = await sign(orderCreated())
      const started = deferred()
      const finish = deferred()
      const handle = (): Promise<void> => {
        started.resolve()
        return finish.promise
      }
      const app = await harness.mount({ on: { 'order.created': handle } })
      try {
        const client = await dial(app.port)
        const { head, first, second } = halves(delivery, DECLARED)
        await client.write(head)
        await client.write(first)
        await client.write(second)
        await started.promise
        client.destroy()
        await client.closed
        finish.resolve()
        await app.recorded(1)
        assert.deepEqual(
          app.records.map(({ outcome }) => outcome),
          ['handled'],
        )
        assertAnswer(await deliver(app.port, delivery), 200, 'duplicate')
      } finally {
        await app.close()
      }
    },
  },
]

export { harnessOf, type RawBytesCase } from './raw-bytes-harness.js'

const MAX = 1000
const options = { maxBodyBytes: MAX }

/** The ways the bytes arrive: in pieces, endlessly, or not at all. `adapterCases` sends whole bodies. */
const sizeCases: readonly RawBytesCase[] = [
  onApp(
    'a chunked body of one byte too many is refused, and one at the limit is not',
    options,
    async (app) => {
      const delivery = await sign(orderOf(MAX + 1))
      for (const size of [MAX + 1, 100, 1]) {
        const answer = await deliver(app.port, delivery, { body: pieces(delivery.body, size) })
        assertAnswer(answer, 413, 'too_large')
      }
      assert.equal(app.runs.length, 0)
      const whole = await sign(orderOf(MAX))
      const answer = await deliver(app.port, whole, { body: pieces(whole.body, 100) })
      assertAnswer(answer, 200, 'handled')
    },
  ),

  onApp('a declared length over the limit is refused before any of it is sent', {}, async (app) => {
    const { header } = await sign('')
    const client = await dial(app.port)
    await client.write(requestHead({ ...jsonHeaders(header), 'content-length': 5_000_000 }))
    assertAnswer(await client.answer(), 413, 'too_large')
    client.destroy()
    assertEnd(app, 'too_large', 'too_large')
    await assertServes(app, await sign(orderOf(MAX)))
  }),

  onApp(
    'a client that sends all of 5 MB, declared or chunked, still sees that it is refused',
    {},
    async (app) => {
      const delivery = await sign(orderOf(5_000_000))
      assertAnswer(await deliver(app.port, delivery), 413, 'too_large')
      const chunked = await deliver(app.port, delivery, { body: pieces(delivery.body, 65_536) })
      assertAnswer(chunked, 413, 'too_large')
      assert.equal(app.runs.length, 0)
      await assertServes(app, await sign(orderOf(MAX)))
    },
  ),

  onApp(
    'what comes after a refusal is thrown away, and the server serves others meanwhile',
    options,
    async (app) => {
      const { header } = await sign('')
      const client = await dial(app.port)
      await client.write(requestHead({ ...jsonHeaders(header), 'transfer-encoding': 'chunked' }))
      await client.write(chunk(new Uint8Array(MAX + 1)))
      assertAnswer(await client.answer(), 413, 'too_large')
      const heldBefore = usedMemory()
      const megabyte = chunk(new Uint8Array(1_048_576))
      // If the server stopped reading, `write` would wait for ever; if it cut the client off, that ends at once.
      for (let sent = 0; sent < 32; sent++) await Promise.race([client.write(megabyte), client.closed])
      const held = await heldBeyond(heldBefore, 16_000_000)
      assert.ok(held <= 16_000_000, `${held} more bytes are held after 32 MB were sent`)
      await assertServes(app, await sign(orderOf(MAX)))
      client.destroy()
    },
  ),

  onApp(
    'a body in pieces of one byte is handled over its exact bytes, characters cut in two included',
    {},
    async (app) => {
      const delivery = await sign({ ...orderOf(400), note: 'Zoë – 東京 – 🎟' })
      const answer = await deliver(app.port, delivery, { body: pieces(delivery.body, 1) })
      assertAnswer(answer, 200, 'handled')
      assert.deepEqual(Buffer.from(app.runs[0]?.rawBody ?? []), Buffer.from(delivery.body))
      assert.deepEqual(app.runs[0]?.event, JSON.parse(new TextDecoder().decode(delivery.body)))
    },
  ),

  onApp(
    'no body is an empty body: authentic where the signature covers it, and unprocessable',
    {},
    async (app) => {
      const { header } = await sign('')
      assertAnswer(await post(app.port, { headers: jsonHeaders(header) }), 500, 'unprocessable')
      assertEnd(app, 'unprocessable', 'not_json')
      assert.match(app.reports.join(), /it is empty/)
      assertAnswer(await post(app.port, { headers: jsonHeaders(header), body: [] }), 500, 'unprocessable')
    },
  ),

  onApp('one connection carries a refused delivery and then a good one', options, async (app) => {
    const refused = await sign(orderOf(MAX), { secret: 'not the secret' })
    const good = await sign(orderOf(MAX))
    const client = await dial(app.port)
    for (const [delivery, status, outcome] of [
      [refused, 401, 'unauthenticated'],
      [good, 200, 'handled'],
      [good, 200, 'duplicate'],
    ] as const) {
      await client.write(requestHead({ ...jsonHeaders(delivery.header), 'transfer-encoding': 'chunked' }))
      for (const piece of pieces(delivery.body, 300)) await client.write(chunk(piece))
      await client.write(LAST_CHUNK)
      assertAnswer(await client.answer(), status, outcome)
    }
    client.destroy()
    assert.equal(app.runs.length, 1)
  }),
]

/** Header lines that no higher-level client sends. */
const headerCases: readonly RawBytesCase[] = [
  onApp('a header that is sent twice is malformed', {}, async (app) => {
    const { header, body } = await sign(orderCreated())
    const headers = { 'x-service-signature': [header, header] }
    assertAnswer(await post(app.port, { headers, body }), 400, 'malformed')
    assertEnd(app, 'malformed', 'header_malformed')
    assert.match(app.reports.join(), /more than one t/)
  }),

  onApp('a header that is spread over two lines is read as one', {}, async (app) => {
    const { header, body } = await sign(orderCreated())
    const headers = { 'x-service-signature': header.split(',') }
    assertAnswer(await post(app.port, { headers, body }), 200, 'handled')
    assertEnd(app, 'handled')
  }),

  onApp(
    'a content-encoding that is not the name of a coding is not repeated in the report',
    {},
    async (app) => {
      const delivery = await sign(orderCreated(), { secret: 'not the secret' })
      const headers = { 'content-encoding': 'gzip; <script>' }
      assertAnswer(await deliver(app.port, delivery, { headers }), 401, 'unauthenticated')
      assert.doesNotMatch(app.reports.join(), /script/)
    },
  ),
]

/**
 * Rules for every adapter that only a raw socket can show; `adapterCases` covers whole requests. Without a test runner: loop over
 * it with `run(harness)`.
 */
export const rawBytesCases: readonly RawBytesCase[] = [...sizeCases, ...headerCases, ...clientCases]
