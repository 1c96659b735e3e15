import { isKind, PayloadError, parseEvent, verifyWebhook, WebhookVerificationError } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { schemaOf } from '../../support/schema-of.js'

const AT = 1_747_490_531
const now = (): number => AT * 1000

test('parseEvent reads an event from bytes or their string', async () => {
  const sent = orderCreated({ id: 'ord_7' })
  const text = JSON.stringify(sent)
  for (const body of [text, new TextEncoder().encode(text), Buffer.from(text)]) {
    const event = await parseEvent(body)
    expect(event).toEqual(sent)
    expect(isKind(event, 'order.created') && event.data.order.id).toBe('ord_7')
  }
})

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

  test.each<[string, string]>([
    ['no JSON', '{'],
    ['no envelope', '{}'],
    ['no order', JSON.stringify({ ...orderCreated(), data: {} })],
  ])('says nothing of a forged body that is %s, but that it is forged', async (_, text) => {
    const { header, body } = await sign(text, { secret: 'forged', timestamp: AT })
    const verified = verifyWebhook(body, header, { secret: SECRET, now })
    await expect(verified).rejects.toBeInstanceOf(WebhookVerificationError)
    await expect(verified).rejects.toMatchObject({ code: 'signature_mismatch' })
  })

  test.each<[string, string, string]>([
    ['not_json', 'no JSON', '{'],
    ['not_an_envelope', 'no envelope', '{}'],
    ['data_mismatch', 'no order', JSON.stringify({ ...orderCreated(), data: {} })],
  ])('says %s of an authentic body that is %s', async (code, _, text) => {
    const { header, body } = await sign(text, { timestamp: AT })
    const verified = verifyWebhook(body, header, { secret: SECRET, now })
    await expect(verified).rejects.toBeInstanceOf(PayloadError)
    await expect(verified).rejects.toMatchObject({ code })
  })

  test('asks no schema about a forged body', async () => {
    let asked = 0
    const schema = schemaOf((value) => {
      asked += 1
      return { value }
    })
    const schemas = { 'order.created': schema }
    const forged = await sign(orderCreated(), { secret: 'forged', timestamp: AT })
    await expect(
      verifyWebhook(forged.body, forged.header, { secret: SECRET, now, schemas }),
    ).rejects.toMatchObject({ code: 'signature_mismatch' })
    expect(asked).toBe(0)
    const authentic = await sign(orderCreated(), { timestamp: AT })
    await verifyWebhook(authentic.body, authentic.header, { secret: SECRET, now, schemas })
    expect(asked).toBe(1)
  })
})
