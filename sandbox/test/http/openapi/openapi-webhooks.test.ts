/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { ASSUMPTIONS } from '../../../service/assumptions.js'
import { apiFixture, contractWith } from '../../support/http-sandbox.js'

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
