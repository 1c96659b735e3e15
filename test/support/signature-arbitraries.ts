import fc from 'fast-check'
import type { Secret } from 'tix-webhooks'
import { secrets } from 'tix-webhooks/testing/fast-check'
import { isPlaceholder } from '../../src/lib/placeholder.js'

const isWhite = (byte: number | undefined): boolean =>
  byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d)

const bytesOf = (secret: Secret): Uint8Array =>
  typeof secret === 'string' ? new TextEncoder().encode(secret) : secret

/** Whether the bytes of a secret are accepted: not empty, and without white space at the start or end. */
export function isUsableSecret(bytes: Uint8Array): boolean {
  const isPadded = isWhite(bytes.at(0)) || isWhite(bytes.at(-1))
  return bytes.length > 0 && !isPadded && !isPlaceholder(new TextDecoder().decode(bytes))
}

export const secretBytes: fc.Arbitrary<Uint8Array> = secrets().map(bytesOf)

/** Secrets that differ as HMAC keys too: HMAC pads a short key with zeros, so that `k` and `k\0` are the same key. */
export const differentSecrets: fc.Arbitrary<Secret[]> = fc.uniqueArray(secrets(), {
  selector: (secret) =>
    Buffer.from(bytesOf(secret))
      .toString('hex')
      .replace(/(00)+$/, ''),
  minLength: 1,
  maxLength: 6,
})

export const bodies: fc.Arbitrary<Uint8Array> = fc.uint8Array({ maxLength: 300 })

/** The same bytes with one of them changed. */
export function withByteChanged(bytes: Uint8Array, at: number, by: number): Uint8Array {
  const changed = Uint8Array.from(bytes)
  const index = at % bytes.length
  changed[index] = (changed[index] ?? 0) ^ by
  return changed
}
