import fc from 'fast-check'
import { createReceiver, type HeaderValue, verifySignature, WebhookVerificationError } from 'tix-webhooks'
import { signedDelivery } from 'tix-webhooks/testing'
import { hostileHeaders, secrets, signatureHeaders, signatureOptions } from 'tix-webhooks/testing/fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { SECRET, sign } from '../../support/deliveries.js'
import { runs } from '../../support/runs.js'
import { expectEach, manyOf } from '../../support/testing/samples-of.js'

const AT = 1_747_490_531
const BODY = '{}'
const HEX = /^[0-9a-f]{64}$/

/** Its signature begins with a zero, which a change of that digit must not leave as it was. */
let header: string
let signedAt = AT

beforeAll(async () => {
  do {
    signedAt += 1
    ;({ header } = await sign(BODY, { timestamp: signedAt }))
  } while (!header.includes(',v1=0'))
})

const joined = (value: HeaderValue): string => (typeof value === 'string' ? value : (value ?? []).join(','))
const itemsOf = (value: HeaderValue): string[] => joined(value).split(',')
const contentsOf = (value: HeaderValue, name: string): string[] =>
  itemsOf(value)
    .map((item) => item.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((item) => item.startsWith(`${name}=`))
    .map((item) => item.slice(name.length + 1))

/** Why a header is refused; undefined where it is not. */
async function refusal(value: HeaderValue, options: object = {}): Promise<string | undefined> {
  const error = await verifySignature(BODY, value, {
    secret: SECRET,
    now: () => AT * 1000,
    ...options,
  }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error === undefined) return undefined
  if (!(error instanceof WebhookVerificationError)) throw error
  return error.code === 'header_malformed' ? error.message.replace(/^.*: /, '') : error.code
}

describe('a well-formed header', () => {
  test('that is made up is taken apart, and matches nothing', async () => {
    await fc.assert(
      fc.asyncProperty(signatureHeaders(), async (value) => {
        expect(await refusal(value)).toBe('signature_mismatch')
      }),
      { numRuns: runs(75) },
    )
  })

  test.each([false, true])(
    'of one that is valid is valid, however it is written; sendable: %s',
    async (sendable) => {
      await fc.assert(
        fc.asyncProperty(signatureHeaders({ of: header, sendable }), async (value) => {
          expect(await refusal(value)).toBeUndefined()
        }),
        { numRuns: runs(75) },
      )
    },
  )

  test('of one with several signatures keeps them all', async () => {
    const secrets = Array.from({ length: 16 }, (_, index) => `secret ${index}`)
    const signature = { algorithm: 'SHA-512', encoding: 'base64' } as const
    const { header: of } = await sign(BODY, { secret: secrets, timestamp: AT, signature })
    for (const value of manyOf(signatureHeaders({ of }), 30)) {
      for (const secret of secrets) expect(await refusal(value, { secret, signature })).toBeUndefined()
    }
  })

  test('has every shape that is allowed', { tags: ['slow'] }, () => {
    expectEach(signatureHeaders({ of: header }), (value) => ({
      string: typeof value === 'string',
      'array of one': Array.isArray(value) && value.length === 1,
      'array in pieces': Array.isArray(value) && value.length > 1,
      plain: value === header,
      't last': contentsOf(itemsOf(value).at(-1), 't').length === 1,
      'blanks around an item': itemsOf(value).some((item) => /^ .* $/.test(item)),
      'a tab': joined(value).includes('\t'),
      'look-alikes': contentsOf(value, 'T').length > 0 && contentsOf(value, 'V1').length > 0,
      'another version': contentsOf(value, 'v2').length > 0,
      'an empty other': contentsOf(value, 'v0').includes(''),
      'several signatures': contentsOf(value, 'v1').length > 2,
      'the valid one last':
        contentsOf(value, 'v1').length > 2 && HEX.test(contentsOf(value, 'v1').at(-1) ?? ''),
      'no signature at all': contentsOf(value, 'v1').includes(''),
      'as long as may be': joined(value).length === 4096,
    }))
    expectEach(signatureHeaders(), (value) => ({
      '16 signatures': contentsOf(value, 'v1').length === 16,
      capitals: contentsOf(value, 'v1').some((one) => /^[0-9A-F]{64}$/.test(one)),
      'SHA-512': contentsOf(value, 'v1').some((one) => /^[0-9a-f]{128}$/.test(one)),
      base64: contentsOf(value, 'v1').some((one) => /^[A-Za-z0-9+/]{43}=$/.test(one)),
      'a zero before its digits': contentsOf(value, 't').some((t) => /^0[0-9]/.test(t)),
      'any text': contentsOf(value, 'v1').some((one) => /\P{ASCII}/u.test(one)),
      'an equals sign': contentsOf(value, 'v1').some((one) => /=./.test(one)),
    }))
  })
})

describe('a hostile header', () => {
  test('is refused though it is made of a valid one, under every way of signing', {
    tags: ['slow'],
  }, async () => {
    await fc.assert(
      fc.asyncProperty(signatureOptions(), fc.nat(), async (signature, seed) => {
        const now = () => (signature.timestampUnit === 'ms' ? AT : AT * 1000)
        const { header: of } = await sign(BODY, { timestamp: AT, signature })
        expect(await refusal(of, { signature, now })).toBeUndefined()
        for (const value of fc.sample(hostileHeaders({ of }), { seed, numRuns: 10 })) {
          expect(await refusal(value, { signature, now })).toEqual(expect.any(String))
        }
      }),
    )
  })

  test.each([false, true])('is refused for every reason there is; sendable: %s', async (sendable) => {
    const all = manyOf(hostileHeaders({ of: header, sendable }))
    const refusals = await Promise.all(all.map((value: HeaderValue) => refusal(value)))
    expect([...new Set(refusals)].sort()).toEqual([
      'an item of it is not name=value.',
      'header_missing',
      'it has more than 16 v1.',
      'it has more than one t.',
      'it has no t.',
      'it has no v1.',
      'it is longer than 4096 characters.',
      'signature_mismatch',
      't is not made of decimal digits alone.',
    ])
  })
})

describe('a header that is sendable', () => {
  test('travels through a Request unchanged, but for blanks at its ends', () => {
    const both = fc.oneof(signatureHeaders({ sendable: true }), hostileHeaders({ sendable: true }))
    fc.assert(
      fc.property(both, (value: string) => {
        expect(new Headers({ x: value }).get('x')).toBe(value.replace(/^[ \t]+|[ \t]+$/g, ''))
      }),
      { numRuns: runs(75) },
    )
  })
})

test.each(['', 'nonsense', 't=1', 'v1=00', 't=1,v1=', 't=x,v1=00', 't=1, v1=00', 't=1,v0=00', 7, null])(
  'an of that is no header is a TypeError: %j',
  (of) => {
    const options = { of: of as string }
    expect(() => signatureHeaders(options)).toThrow(TypeError)
    expect(() => hostileHeaders(options)).toThrow(/^of must be a header as signPayload returns it/)
  },
)

describe('a secret', () => {
  test('is taken by the receiver and by the signer', async () => {
    await fc.assert(
      fc.asyncProperty(secrets(), async (secret) => {
        expect(createReceiver({ secret, on: { 'order.created': () => {} } })).toBeDefined()
        const { header } = await sign('{}', { secret, timestamp: 1 })
        expect(await verifySignature('{}', header, { secret, now: () => 1000 })).toMatchObject({
          secretIndex: 0,
        })
      }),
      { numRuns: runs(75) },
    )
  })
})

describe('the ways of signing', () => {
  test('are taken by the receiver and by the signer', async () => {
    await fc.assert(
      fc.asyncProperty(signatureOptions(), async (signature) => {
        const secret = 'whsec_test'
        const { receive, headerName } = createReceiver({
          secret,
          signature,
          on: { 'order.created': () => {} },
        })
        const delivery = await signedDelivery('event.published', { secret, signature })
        const request = delivery.toRequest('/hooks')
        const body = new Uint8Array(await request.arrayBuffer())
        expect(await receive({ header: request.headers.get(headerName), body, request })).toEqual({
          outcome: 'unhandled',
        })
        expect(request.headers.get('content-type')).toBe('application/json')
      }),
      { numRuns: runs(50) },
    )
  })
})
