import { type SignatureOptions, signPayload, verifySignature } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { SECRET, sign } from '../../support/deliveries.js'

describe('an invalid option is a TypeError that names it, before anything is computed', () => {
  test.each<[string, unknown, RegExp]>([
    ['algorithm', 'sha256', /signature\.algorithm must be "SHA-256" or "SHA-512"/],
    ['encoding', 'base64url', /signature\.encoding must be "hex" or "base64"/],
    ['signedContent', 'body', /signature\.signedContent must be "dot" or "concat"/],
    ['timestampUnit', 'seconds', /signature\.timestampUnit must be "s" or "ms"/],
    ['header', 'x service', /signature\.header must be the name of a header/],
    ['header', 'x-sig\r\nx-other: 1', /signature\.header must be the name of a header/],
    ['header', 7, /signature\.header must be the name of a header/],
  ])('signature.%s = %j', async (option, value, message) => {
    const signature = { [option]: value } as SignatureOptions
    for (const refused of [
      signPayload('{}', { secret: SECRET, signature }),
      verifySignature('{}', 't=1,v1=00', { secret: SECRET, signature }),
    ]) {
      await expect(refused).rejects.toThrow(TypeError)
      await expect(refused).rejects.toThrow(message)
    }
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '300'])(
    'toleranceSeconds = %s',
    async (value) => {
      const { header, body } = await sign('{}')
      const toleranceSeconds = value as number
      const refused = verifySignature(body, header, { secret: SECRET, toleranceSeconds })
      await expect(refused).rejects.toThrow(TypeError)
      await expect(refused).rejects.toThrow(
        /toleranceSeconds must be a finite number above 0, not .*: the timestamp is always checked. Pass 259200/,
      )
    },
  )

  test.each([1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '1747490531', new Date(0)])(
    'timestamp = %s',
    async (value) => {
      const refused = signPayload('{}', { secret: SECRET, timestamp: value as number })
      await expect(refused).rejects.toThrow(TypeError)
      await expect(refused).rejects.toThrow(/timestamp must be a whole number of seconds since the epoch/)
    },
  )

  test('more than 16 secrets to sign with, as no header holds them', async () => {
    const many = Array.from({ length: 17 }, (_, i) => `secret ${i}`)
    const refused = signPayload('{}', { secret: many })
    await expect(refused).rejects.toThrow(TypeError)
    await expect(refused).rejects.toThrow(/at most 16 signatures, not 17/)
    const { header, body } = await sign('{}', { secret: many.slice(1) })
    expect(await verifySignature(body, header, { secret: 'secret 16' })).toMatchObject({ secretIndex: 0 })
  })
})
