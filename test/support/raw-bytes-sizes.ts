import assert from 'node:assert/strict'
import { sign } from './deliveries.js'
import { chunk, dial, LAST_CHUNK, pieces, post, requestHead } from './http.js'
import { heldBeyond, usedMemory } from './memory.js'
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

const MAX = 1000
const options = { maxBodyBytes: MAX }

/** The ways the bytes arrive: in pieces, endlessly, or not at all. `adapterCases` sends whole bodies. */
export const sizeCases: readonly RawBytesCase[] = [
  ...[MAX - 1, MAX].map((size) =>
    onApp(`a chunked body of ${size} bytes is handled where ${MAX} are allowed`, options, async (app) => {
      const delivery = await sign(orderOf(size))
      const answer = await deliver(app.port, delivery, { body: pieces(delivery.body, 100) })
      assertAnswer(answer, 200, 'handled')
      assertEnd(app, 'handled')
    }),
  ),

  onApp('a chunked body of one byte too many is refused', options, async (app) => {
    const delivery = await sign(orderOf(MAX + 1))
    for (const size of [MAX + 1, 100, 1]) {
      const answer = await deliver(app.port, delivery, { body: pieces(delivery.body, size) })
      assertAnswer(answer, 413, 'too_large')
    }
    assert.equal(app.runs.length, 0)
    await assertServes(app, await sign(orderOf(MAX)))
  }),

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

  onApp('an endless stream is refused as soon as it is over the limit', options, async (app) => {
    const { header } = await sign('')
    const client = await dial(app.port)
    await client.write(requestHead({ ...jsonHeaders(header), 'transfer-encoding': 'chunked' }))
    await client.write(chunk(new Uint8Array(MAX + 1)))
    // The stream never ends, so the answer can only come in the middle of it.
    assertAnswer(await client.answer(), 413, 'too_large')
    assertEnd(app, 'too_large', 'too_large')
    client.destroy()
    await assertServes(app, await sign(orderOf(MAX)))
  }),

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
