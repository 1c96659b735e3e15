import { PayloadError, verifyWebhook, WebhookVerificationError } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'

const AT = 1_747_490_531
const now = (): number => AT * 1000

describe('verifyWebhook', () => {
  test('gives the event of an authentic, fresh delivery', async () => {
    const sent = { ...lifecycleEvent('event.published'), id: 'evt_1' }
    const { header, body } = await sign(sent, { timestamp: AT })
    expect(await verifyWebhook(body, header, { secret: SECRET, now })).toEqual(sent)
    expect(await verifyWebhook(JSON.stringify(sent), header, { secret: SECRET, now })).toEqual(sent)
  })

  test('takes the options of the signature', async () => {
    const signature = { encoding: 'base64', timestampUnit: 'ms', algorithm: 'SHA-512' } as const
    const { header, body } = await sign(orderCreated(), { timestamp: AT * 1000, signature })
    const options = {
      secret: ['other', SECRET],
      signature,
      now: () => AT * 1000 + 1,
      toleranceSeconds: 0.001,
    }
    await expect(verifyWebhook(body, header, options)).resolves.toMatchObject({ type: 'order.created' })
  })

  test.each([
    ['forged', WebhookVerificationError, 'signature_mismatch'],
    [SECRET, PayloadError, 'not_an_envelope'],
  ])('says of no envelope that it is forged, if it is: signed with %s', async (secret, type, code) => {
    const { header, body } = await sign('{}', { secret, timestamp: AT })
    const verified = verifyWebhook(body, header, { secret: SECRET, now })
    await expect(verified).rejects.toBeInstanceOf(type)
    await expect(verified).rejects.toMatchObject({ code })
  })
})
