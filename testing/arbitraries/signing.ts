import * as fc from 'fast-check'
import type { Secret, SignatureOptions } from '../../src/index.js'
import { joined, objectsOf, texts } from './json.js'

/** The names of signature headers in the field. */
const HEADER_NAMES = ['x-service-signature', 'Stripe-Signature', 'Webhook-Signature', 'X-Signature']
/** The token characters of RFC 9110, section 5.6.2. */
const TOKEN_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.!#$%&'*+^`|~"
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

const OPTION_NAMES: (keyof SignatureOptions)[] = [
  'header',
  'algorithm',
  'encoding',
  'signedContent',
  'timestampUnit',
]

/** Longer than a block of either hash, past which a key is hashed itself. */
const MAX_SECRET_BYTES = 200

/**
 * Signing secrets that a receiver takes: as services write them, any text without white space or quotes at its edges, and bytes.
 *
 * HMAC fills a short key with zeros, so that two secrets which differ by NUL at their end alone are one.
 *
 * @example
 * ```ts
 * import * as fc from 'fast-check'
 * import { signPayload, verifySignature } from 'tix-webhooks'
 * import { secrets } from 'tix-webhooks/testing/fast-check'
 *
 * await fc.assert(
 *   fc.asyncProperty(secrets(), async (secret) => {
 *     const header = await signPayload('{}', { secret })
 *     await verifySignature('{}', header, { secret })
 *   }),
 * )
 * ```
 */
export function secrets(): fc.Arbitrary<Secret> {
  const written = joined(fc.constantFrom(...BASE64), { minLength: 1, maxLength: 120, size: 'max' })
  return fc.oneof(
    written.map((text) => `whsec_${text}`),
    texts().filter((text) => text === text.trim() && !isQuoted(text)),
    bytes(fc.nat(255)).filter((bytes) => !isQuoted(String.fromCharCode(...bytes))),
    // What is a text all the same.
    bytes(fc.integer({ min: 0x21, max: 0x7e })).filter((bytes) => !isQuoted(String.fromCharCode(...bytes))),
  )
}

function isQuoted(text: string): boolean {
  return /^(["']).*\1$/s.test(text)
}

/**
 * Every way of signing that the option `signature` can say, its default and functions of `signedContent` among them.
 *
 * @example
 * ```ts
 * import * as fc from 'fast-check'
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { signedDelivery } from 'tix-webhooks/testing'
 * import { signatureOptions } from 'tix-webhooks/testing/fast-check'
 *
 * const secret = 'whsec_test'
 *
 * await fc.assert(
 *   fc.asyncProperty(signatureOptions(), async (signature) => {
 *     const POST = tixWebhooks({ secret, signature, on: { 'order.created': () => {} } })
 *     const delivery = await signedDelivery('event.published', { secret, signature })
 *     return (await POST(delivery.toRequest('/hooks'))).status === 200
 *   }),
 * )
 * ```
 */
export function signatureOptions(): fc.Arbitrary<SignatureOptions> {
  const token = joined(fc.constantFrom(...TOKEN_CHARACTERS), { minLength: 1, maxLength: 40 })
  const whole = objectsOf<Required<SignatureOptions>>({
    // Begins with x-, so that it is none of HTTP's own.
    header: fc.oneof(
      fc.constantFrom(...HEADER_NAMES),
      token.map((name) => `x-${name}`),
    ),
    algorithm: fc.constantFrom('SHA-256', 'SHA-512'),
    encoding: fc.constantFrom('hex', 'base64'),
    signedContent: fc.constantFrom<Required<SignatureOptions>['signedContent'][]>(
      'dot',
      'concat',
      bodyThenTime,
      timeBetweenColons,
    ),
    timestampUnit: fc.constantFrom('s', 'ms'),
  })
  // Not by `requiredKeys`, which leaves few of them out.
  return fc
    .tuple(whole, fc.subarray(OPTION_NAMES))
    .map(([all, names]) => Object.fromEntries(names.map((name) => [name, all[name]])))
}

function bytes(byte: fc.Arbitrary<number>): fc.Arbitrary<Uint8Array> {
  return fc
    .array(byte, { minLength: 1, maxLength: MAX_SECRET_BYTES, size: 'max' })
    .filter((all) => !isWhite(all[0]) && !isWhite(all.at(-1)))
    .map((all) => Uint8Array.from(all))
}

function isWhite(byte: number | undefined): boolean {
  return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d)
}

function bodyThenTime(t: string, body: Uint8Array): Uint8Array {
  return Uint8Array.from([...body, ...new TextEncoder().encode(`|${t}`)])
}

function timeBetweenColons(t: string, body: Uint8Array): Uint8Array {
  return Uint8Array.from([...new TextEncoder().encode(`v0:${t}:`), ...body])
}
