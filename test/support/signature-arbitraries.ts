import fc from 'fast-check'
import type { Secret, SignatureOptions } from 'tix-webhooks'

const isWhite = (byte: number | undefined): boolean =>
  byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d)

/** Whether a secret is taken: not empty, no white space at its edge. */
export function isUsableSecret(secret: Secret): boolean {
  if (typeof secret === 'string') return secret !== '' && secret === secret.trim()
  return secret.length > 0 && !isWhite(secret.at(0)) && !isWhite(secret.at(-1))
}

/** Any usable bytes, also longer than a block of SHA-512. */
export const secretBytes: fc.Arbitrary<Uint8Array> = fc
  .uint8Array({ minLength: 1, maxLength: 200 })
  .filter(isUsableSecret)

export const secrets: fc.Arbitrary<Secret> = fc.oneof(
  secretBytes,
  fc.string({ unit: 'binary', minLength: 1 }).filter(isUsableSecret),
)

/** Secrets that differ as HMAC keys too: HMAC fills a short key with zeros, so that `k` and `k\0` are one key. */
export const differentSecrets: fc.Arbitrary<string[]> = fc.uniqueArray(
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 8, maxLength: 40 }),
  { minLength: 1, maxLength: 6 },
)

export const bodies: fc.Arbitrary<Uint8Array> = fc.uint8Array({ maxLength: 300 })

function bodyThenTime(t: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([body, Buffer.from(`|${t}`)])
}

/** Every way of signing that can be set. */
export const schemes: fc.Arbitrary<SignatureOptions> = fc.record(
  {
    header: fc.constantFrom('x-service-signature', 'Stripe-Signature'),
    algorithm: fc.constantFrom('SHA-256' as const, 'SHA-512' as const),
    encoding: fc.constantFrom('hex' as const, 'base64' as const),
    signedContent: fc.constantFrom('dot' as const, 'concat' as const, bodyThenTime),
    timestampUnit: fc.constantFrom('s' as const, 'ms' as const),
  },
  { requiredKeys: [] },
)

/** The same bytes, but for one of them. */
export function withByteChanged(bytes: Uint8Array, at: number, by: number): Uint8Array {
  const changed = Uint8Array.from(bytes)
  const index = at % bytes.length
  changed[index] = (changed[index] ?? 0) ^ by
  return changed
}
