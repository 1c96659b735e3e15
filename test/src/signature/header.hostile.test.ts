import fc from 'fast-check'
import {
  type HeaderValue,
  type VerifiedSignature,
  verifySignature,
  WebhookVerificationError,
} from 'tix-webhooks'
import { hostileHeaders, signatureHeaders } from 'tix-webhooks/testing/fast-check'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'

const AT = 1_747_490_531
const HEX = '0'.repeat(64)

function verify(header: unknown, encoding: 'hex' | 'base64' = 'hex'): Promise<VerifiedSignature> {
  return verifySignature('{}', header as HeaderValue, {
    secret: SECRET,
    signature: { encoding },
    now: () => AT * 1000,
  })
}

// A quadratic pass over millions of characters or items would run into the time limit of a test.
describe('a header of any length is refused', () => {
  test.each<[string, () => unknown, string]>([
    ['5 MB of one letter', () => 'a'.repeat(5_000_000), 'header_malformed'],
    ['5 MB of commas', () => ','.repeat(5_000_000), 'header_malformed'],
    ['75,000 v1', () => `t=${AT}${`,v1=${HEX}`.repeat(75_000)}`, 'header_malformed'],
    ['4096 blanks inside an item', () => `t=${AT},v1=x${' '.repeat(4000)}y`, 'signature_mismatch'],
    [
      '4096 blanks inside an item that begins with one',
      () => ` v1=x${' '.repeat(4000)}y`,
      'header_malformed',
    ],
    ['an array of a million', () => new Array(1_000_000).fill('t=1'), 'header_malformed'],
    ['an array nested a thousand times', () => nested(1000), 'header_malformed'],
  ])('%s', async (_, headerOf, code) => {
    await expect(verify(headerOf())).rejects.toMatchObject({ name: 'WebhookVerificationError', code })
  })

  test('an array whose members are too long to be joined is malformed like any long header', async () => {
    const header = new Array(200).fill('a'.repeat(5_000_000))
    await expect(verify(header)).rejects.toMatchObject({
      name: 'WebhookVerificationError',
      code: 'header_malformed',
      message: expect.stringMatching(/longer than 4096/),
    })
  })
})

function nested(levels: number): unknown {
  return levels === 0 ? 't=1' : [nested(levels - 1)]
}

describe('whatever a stranger sends, the answer is a verification error, never a match', () => {
  const anything = fc.anything({ withNullPrototype: true, withObjectString: true, withSparseArray: true })

  test.each(['hex', 'base64'] as const)('with %s expected', { tags: ['slow'] }, async (encoding) => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          hostileHeaders(),
          signatureHeaders(),
          fc.array(fc.oneof(hostileHeaders(), signatureHeaders())),
          fc.string({ unit: 'binary' }),
          anything,
          fc.array(anything),
        ),
        async (header) => {
          const thrown = await verify(header, encoding).then(
            () => 'a match',
            (error: unknown) => error,
          )
          expect(thrown).toBeInstanceOf(WebhookVerificationError)
          expect(thrown).toMatchObject({
            code: expect.stringMatching(/^(header_missing|header_malformed|signature_mismatch)$/),
          })
        },
      ),
      { numRuns: 500 },
    )
  })
})
