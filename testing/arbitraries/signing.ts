import * as fc from 'fast-check'
import type { Secret, SignatureOptions } from '../../src/index.js'
import { isPlaceholder } from '../../src/internal.js'
import { joined, objectsOf, texts } from './json.js'

/** Common names of signature headers. */
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

/** Longer than a block of either hash: such a key is hashed first. */
const MAX_SECRET_BYTES = 200

/**
 * Signing secrets that a receiver accepts: in the usual form, any text without white space or quotes at its edges that is no placeholder such
 * as `undefined`, and bytes.
 *
 * HMAC pads a short key with zeros, so two secrets that differ only by NUL at their end are the same key.
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
    texts().filter((text) => text === text.trim() && !isQuoted(text) && !isPlaceholder(text)),
    bytes(fc.nat(255)).filter(isNoMistake),
    // Bytes that are text too.
    bytes(fc.integer({ min: 0x21, max: 0x7e })).filter(isNoMistake),
  )
}

function isNoMistake(bytes: Uint8Array): boolean {
  const text = String.fromCharCode(...bytes)
  return !isQuoted(text) && !isPlaceholder(text)
}

function isQuoted(text: string): boolean {
  return /^(["']).*\1$/s.test(text)
}

/**
 * Every value of the option `signature`, its default and functions for `signedContent` included.
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
    // The prefix x- ensures that it is no header of HTTP.
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
  // `requiredKeys` would rarely leave out several of them.
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
