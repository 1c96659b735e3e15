import assert from 'node:assert/strict'
import { orderCreated, sign } from './deliveries.js'
import { post } from './http.js'
import { assertAnswer, assertEnd, deliver, onApp, type RawBytesCase } from './raw-bytes-harness.js'

/** Header lines that no higher-level client sends. */
export const headerCases: readonly RawBytesCase[] = [
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
