import fc from 'fast-check'
import {
  type HeaderValue,
  type VerifiedSignature,
  verifySignature,
  WebhookVerificationError,
} from 'tix-webhooks'
import { beforeAll, describe, expect, test } from 'vitest'
import { SECRET, sign } from '../../support/deliveries.js'
import { runs } from '../../support/runs.js'
import { hostileForms, signatureOptions, strangeHeaders } from '../../support/signing.js'

const AT = 1_747_490_531
const BODY = '{}'
const HEX = '0'.repeat(64)

/** A valid signature of the body at `AT`: every refusal below is for the header's form alone. */
let v1: string

beforeAll(async () => {
  const { header } = await sign(BODY, { timestamp: AT })
  v1 = header.slice(header.indexOf('v1='))
})

/** Takes anything: the header comes from a stranger, and frameworks pass more than their types say. */
function verify(header: unknown, encoding: 'hex' | 'base64' = 'hex'): Promise<VerifiedSignature> {
  return verifySignature(BODY, header as HeaderValue, {
    secret: SECRET,
    signature: { encoding },
    now: () => AT * 1000,
  })
}

async function expectRefused(header: unknown, code: string, message: RegExp) {
  const verified = verify(header)
  await expect(verified).rejects.toBeInstanceOf(WebhookVerificationError)
  await expect(verified).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
}

describe('a missing header', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['an empty string', ''],
  ])('is %s', async (_, header) => {
    await expectRefused(header, 'header_missing', /has no x-service-signature header.*a proxy in between/)
  })

  test('is named as it was set', async () => {
    await expect(
      verifySignature(BODY, null, { secret: SECRET, signature: { header: 'Stripe-Signature' } }),
    ).rejects.toThrow('no stripe-signature header')
  })
})

test.each<[string, (v1: string) => unknown]>([
  ['in its plain form', (v1) => `t=${AT},${v1}`],
  ['with blanks around its items', (v1) => ` t=${AT} ,\t ${v1}\t`],
  ['with other names, which are ignored', (v1) => `v0=x,t=${AT},v2=${HEX},${v1},k==,T=1,x=é\u0000`],
  ['as an array in pieces, joined with commas', (v1) => [`t=${AT}`, v1]],
  ['with 16 v1, the last of them good', (v1) => `t=${AT},${`v1=${HEX},`.repeat(15)}${v1}`],
  ['at 4096 characters', (v1) => `t=${AT},${v1},x=`.padEnd(4096, 'x')],
])('a header is taken %s', async (_, headerOf) => {
  expect(await verify(headerOf(v1))).toEqual({ signedAt: new Date(AT * 1000), secretIndex: 0 })
})

describe('a malformed header, with a true signature in it, is refused for', () => {
  test.each<[string, (v1: string) => unknown, RegExp]>([
    ['no t', (v1) => v1, /has no t\./],
    ['a t without a value', (v1) => `t,${v1}`, /not name=value/],
    ['a new line after the digits', (v1) => `t=${AT}\n,${v1}`, /decimal digits alone/],
    ['digits of another script', (v1) => `t=١٧٤٧٤٩٠٥٣١,${v1}`, /decimal digits alone/],
    ['a no-break space before t', (v1) => `\u00a0t=${AT},${v1}`, /has no t\./],
    ['t twice', (v1) => `t=${AT},t=1,${v1}`, /more than one t/],
    ['no v1', () => `t=${AT}`, /has no v1/],
    ['17 v1, the first of them good', (v1) => `t=${AT},${v1}${`,v1=${HEX}`.repeat(16)}`, /more than 16 v1/],
    ['4097 characters', (v1) => `t=${AT},${v1},x=`.padEnd(4097, 'x'), /longer than 4096/],
    ['an item without a name', (v1) => `t=${AT},${v1},=x`, /not name=value/],
    ['an empty item', (v1) => `t=${AT},,${v1}`, /not name=value/],
  ])('%s', async (_, headerOf, message) => {
    await expectRefused(headerOf(v1), 'header_malformed', message)
    await expectRefused(headerOf(v1), 'header_malformed', /of the form t=<digits>,v1=<signature>: /)
  })

  test.each<[string, (header: string) => unknown]>([
    ['bytes', (header) => new TextEncoder().encode(header)],
    ['an array in an array', (header) => [[header]]],
  ])('being no string: %s', async (_, headerOf) => {
    await expectRefused(headerOf(`t=${AT},${v1}`), 'header_malformed', /it is not a string/)
  })
})

test.each<['hex' | 'base64', string, (text: string) => string]>([
  ['hex', 'the true bytes, and junk', (text) => `${text}zz`],
  ['hex', 'blanks that a number parser takes', () => `0${' 1'.repeat(31)}0`],
  ['base64', 'blanks, which atob skips', (text) => ` ${text.slice(0, 43)}`.padEnd(44)],
  ['base64', 'line ends, which atob skips', (text) => `${text.slice(0, 20)}\n${text.slice(20)}`],
])('a v1 in %s of %s is a mismatch', async (encoding, _, textOf) => {
  const { header } = await sign(BODY, { timestamp: AT, signature: { encoding } })
  expect(await verify(header, encoding)).toMatchObject({ secretIndex: 0 })
  const text = header.slice(header.indexOf('v1=') + 3)
  await expect(verify(`t=${AT},v1=${textOf(text)}`, encoding)).rejects.toMatchObject({
    name: 'WebhookVerificationError',
    code: 'signature_mismatch',
  })
})

// A quadratic pass over millions of characters or items would run into the time limit of a test.
test.each<[string, () => unknown, string]>([
  ['5 MB of one letter', () => 'a'.repeat(5_000_000), 'header_malformed'],
  ['75,000 v1', () => `t=${AT}${`,v1=${HEX}`.repeat(75_000)}`, 'header_malformed'],
  ['4096 blanks inside an item', () => `t=${AT},v1=x${' '.repeat(4000)}y`, 'signature_mismatch'],
  [
    'an array whose members are too long to be joined',
    () => new Array(200).fill('a'.repeat(5_000_000)),
    'header_malformed',
  ],
  ['an array of 100,000', () => new Array(100_000).fill('t=1'), 'header_malformed'],
])('a header of any length is refused: %s', async (_, headerOf, code) => {
  await expect(verify(headerOf())).rejects.toMatchObject({ name: 'WebhookVerificationError', code })
})

test('a header that is almost a valid one is refused, under every way of signing', async () => {
  await fc.assert(
    fc.asyncProperty(signatureOptions, async (signature) => {
      const { header } = await sign(BODY, { timestamp: AT, signature })
      const options = {
        secret: SECRET,
        signature,
        now: () => AT * (signature.timestampUnit === 'ms' ? 1 : 1000),
      }
      expect(await verifySignature(BODY, header, options)).toMatchObject({ secretIndex: 0 })
      for (const form of hostileForms(header)) {
        for (const value of [form, form.split(',')]) {
          const verified = verifySignature(BODY, value, options).then(
            () => `taken: ${form}`,
            (error: unknown) => error,
          )
          expect(await verified).toBeInstanceOf(WebhookVerificationError)
        }
      }
    }),
    { numRuns: runs(20) },
  )
})

describe('whatever a stranger sends, the answer is a verification error, never a match', () => {
  const anything = fc.anything({ withNullPrototype: true, withObjectString: true, withSparseArray: true })

  test.each(['hex', 'base64'] as const)('with %s expected', { tags: ['slow'] }, async (encoding) => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(strangeHeaders, fc.string({ unit: 'binary' }), anything, fc.array(anything)),
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
