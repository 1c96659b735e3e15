/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { ASSUMPTIONS } from '../../../service/assumptions.js'
import { apiFixture } from '../../support/api-fixture.js'
import { contractWith } from '../../support/http-sandbox.js'

describe.each(Object.keys(ASSUMPTIONS.signature.choices))('signed by %s', (signature) => {
  test('[S5] [S39] [S42] [S44] [S79] [S84] [S88] [S91] [S92] what is sent is what the description says', async () => {
    const sandbox = apiFixture({ assume: { signature } })
    sandbox.service.engine.createEndpoint({ url: 'http://127.0.0.1:3000/hooks' })
    await sandbox.order({
      before: (id) => sandbox.act(id, 'reschedule', { doors_at: '2026-12-02T20:00+01:00' }),
    })
    const { id } = await sandbox.create()
    await sandbox.act(id, 'cancel')
    await sandbox.service.clock.idle()

    const sent = sandbox.sent.map(({ headers, body }) => ({ headers, body: Buffer.from(body).toString() }))
    const kinds = sent.map(({ body }) => JSON.parse(body).type)
    expect(kinds.sort()).toEqual(['event.cancelled', 'event.published', 'event.rescheduled', 'order.created'])
    const { checkWebhook } = contractWith(sandbox.service.assumptions)
    for (const { headers, body } of sent) checkWebhook(headers, body)
  })
})

test('a webhook that differs from the description is refused', async () => {
  const sandbox = apiFixture()
  const { checkWebhook } = contractWith(sandbox.service.assumptions)
  const headers = { 'content-type': 'application/json', 'x-service-signature': 't=1,v1=ab' }
  const order = { id: 'ord_1', total_cents: 1, buyer_email: 'a@example.com' }
  const body = (changes: object, data: object = { order, tickets: [{ id: 'tik_1', tier: 'GA' }] }) =>
    JSON.stringify({ type: 'order.created', created_at: '2026-11-20T11:24:00.001Z', data, ...changes })
  expect(() => checkWebhook(headers, body({}))).not.toThrow()
  for (const [faulty, faultyBody] of [
    [{ ...headers, 'x-service-signature': 'v1=ab' }, body({})],
    [{ ...headers, 'content-type': 'text/plain' }, body({})],
    [headers, body({ id: 'msg_1' })],
    [headers, body({ created_at: '2026-11-20 11:24' })],
    [headers, body({}, { order, tickets: [] })],
    [headers, body({}, { order, tickets: [{ id: 'tik_1', tier: 'GA', scan_token: 'x' }] })],
  ] as const) {
    expect(() => checkWebhook(faulty, faultyBody)).toThrow()
  }
})
