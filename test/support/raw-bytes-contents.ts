import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { orderCreated, SECRET, sign } from './deliveries.js'
import { post } from './http.js'
import {
  assertAnswer,
  assertEnd,
  assertServes,
  deliver,
  jsonHeaders,
  onApp,
  type RawBytesCase,
} from './raw-bytes-harness.js'

const CONTENT_TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=none',
  'image/png',
  'application/json; charset=utf-16',
  'application/vnd.tickets+json',
  'no media type at all',
  ';;;',
]

const utf8 = new TextEncoder()
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf)

/** Spacing, escapes and number forms that no JSON writer would give back after a parser. */
const PRETTY = `{
\t"data" :  { "tickets": [ { "tier":"caf\\u00e9 \\/ \\ud83c\\udf9f", "id":"tik_1" } ],\r
    "order": {"buyer_email":"b@example.com","total_cents": 54.00e2 , "id": "ord_pretty" } },
  "created_at":"2026-05-17T14:02:11Z",   "type": "order.created", "rate": 1.0, "big": 12345678901234567890
}

`

/** An order with a byte in its text that no UTF-8 has. */
function brokenUtf8(): Uint8Array {
  const bytes = utf8.encode(JSON.stringify({ ...orderCreated(), note: '?' }))
  bytes[bytes.lastIndexOf(0x3f)] = 0xff
  return bytes
}

/** What the bytes are, and what is said of them. */
export const contentCases: readonly RawBytesCase[] = [
  ...CONTENT_TYPES.map((type) =>
    onApp(`a body of content-type "${type}" is handled over its exact bytes`, {}, async (app) => {
      const delivery = await sign(PRETTY)
      assertAnswer(await deliver(app.port, delivery, { headers: { 'content-type': type } }), 200, 'handled')
      assert.equal(Buffer.from(app.runs[0]?.rawBody ?? []).toString(), PRETTY)
    }),
  ),

  onApp('a body without a content-type is handled', {}, async (app) => {
    const { header, body } = await sign(orderCreated())
    assertAnswer(await post(app.port, { headers: { 'x-service-signature': header }, body }), 200, 'handled')
    assertEnd(app, 'handled')
  }),

  onApp('JSON of odd spacing and escapes is handled, and read as JSON.parse reads it', {}, async (app) => {
    assertAnswer(await deliver(app.port, await sign(PRETTY)), 200, 'handled')
    assert.equal(Buffer.from(app.runs[0]?.rawBody ?? []).toString(), PRETTY)
    assert.deepEqual(app.runs[0]?.event, JSON.parse(PRETTY))
  }),

  onApp('a body that was written anew after it was signed is refused', {}, async (app) => {
    const { header } = await sign(PRETTY)
    const body = utf8.encode(JSON.stringify(JSON.parse(PRETTY)))
    assertAnswer(await deliver(app.port, { header, body }), 401, 'unauthenticated')
    assertEnd(app, 'unauthenticated', 'signature_mismatch')
  }),

  onApp('a byte order mark is part of what is signed, and not of the JSON', {}, async (app) => {
    const order = utf8.encode(JSON.stringify(orderCreated()))
    const marked = await sign(Buffer.concat([BOM, order]))
    const { header: unmarkedHeader } = await sign(order)
    assertAnswer(await deliver(app.port, { ...marked, header: unmarkedHeader }), 401, 'unauthenticated')
    assertAnswer(await deliver(app.port, { ...marked, body: order }), 401, 'unauthenticated')
    assert.equal(app.runs.length, 0)
    await assertServes(app, marked)
  }),

  onApp('a signed body that is no UTF-8 is authentic, and unprocessable', {}, async (app) => {
    assertAnswer(await deliver(app.port, await sign(brokenUtf8())), 500, 'unprocessable')
    assertEnd(app, 'unprocessable', 'not_json')
    assert.match(app.reports.join(), /authentic, but not JSON.*not valid UTF-8/)
  }),

  onApp(
    'a signature over the replacement character does not cover the byte that it would replace',
    {},
    async (app) => {
      const body = brokenUtf8()
      const { header } = await sign(new TextDecoder().decode(body))
      assertAnswer(await deliver(app.port, { header, body }), 401, 'unauthenticated')
      assertEnd(app, 'unauthenticated', 'signature_mismatch')
    },
  ),

  onApp(
    'a body that was compressed after it was signed is refused, and the report names content-encoding',
    {},
    async (app) => {
      const { header, body } = await sign(orderCreated())
      const headers = { 'content-encoding': 'gzip' }
      assertAnswer(
        await deliver(app.port, { header, body: gzipSync(body) }, { headers }),
        401,
        'unauthenticated',
      )
      assertEnd(app, 'unauthenticated', 'signature_mismatch')
      assert.match(app.reports.join(), /content-encoding: gzip/)
    },
  ),

  onApp('a body that is signed as it was compressed is authentic, and not inflated', {}, async (app) => {
    const delivery = await sign(gzipSync(JSON.stringify(orderCreated())))
    const answer = await deliver(app.port, delivery, { headers: { 'content-encoding': 'gzip' } })
    assertAnswer(answer, 500, 'unprocessable')
    assertEnd(app, 'unprocessable', 'not_json')
    assert.match(app.reports.join(), /is it compressed\?/)
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

  onApp('no body is refused where the signature covers one', {}, async (app) => {
    const { header } = await sign(orderCreated())
    assertAnswer(await post(app.port, { headers: jsonHeaders(header) }), 401, 'unauthenticated')
    assertEnd(app, 'unauthenticated', 'signature_mismatch')
  }),

  onApp('a forged body is refused, and the refusal tells nothing', {}, async (app) => {
    const { header, body } = await sign(orderCreated())
    const forged = Buffer.from(body.map((byte, i) => (i === body.length - 3 ? byte ^ 1 : byte)))
    assertAnswer(await deliver(app.port, { header, body: forged }), 401, 'unauthenticated')
    assertEnd(app, 'unauthenticated', 'signature_mismatch')
    assert.equal(app.reports.length, 1)
    assert.ok(!app.reports.join().includes(SECRET))
    await assertServes(app, { header, body })
  }),

  onApp('a delivery without the header is malformed', {}, async (app) => {
    const { body } = await sign(orderCreated())
    const answer = await post(app.port, { headers: { 'content-type': 'application/json' }, body })
    assertAnswer(answer, 400, 'malformed')
    assertEnd(app, 'malformed', 'header_missing')
  }),

  onApp('a header that is sent twice is malformed', {}, async (app) => {
    const { header, body } = await sign(orderCreated())
    const headers = { 'x-service-signature': [header, header] }
    assertAnswer(await post(app.port, { headers, body }), 400, 'malformed')
    assertEnd(app, 'malformed', 'header_malformed')
    assert.match(app.reports.join(), /more than one t/)
  }),

  onApp('a header that is spread over two lines is read as one', {}, async (app) => {
    const { header, body } = await sign(orderCreated())
    assertAnswer(
      await post(app.port, { headers: { 'x-service-signature': header.split(',') }, body }),
      200,
      'handled',
    )
    assertEnd(app, 'handled')
  }),
]
