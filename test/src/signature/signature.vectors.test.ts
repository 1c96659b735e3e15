import { readFileSync } from 'node:fs'
import type { SignatureOptions } from 'tix-webhooks'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type EngineName, type PackageCopy, packageWithEngine } from '../../support/engines.js'

interface Vector {
  readonly name: string
  readonly secretBase64: string
  readonly timestamp: number
  readonly bodyBase64: string
  readonly algorithm: 'SHA-256' | 'SHA-512'
  readonly signedContent: 'dot' | 'concat'
  readonly encoding: 'hex' | 'base64'
  readonly signature: string
}

const { vectors }: { vectors: readonly Vector[] } = JSON.parse(
  readFileSync(new URL('../../vectors.json', import.meta.url), 'utf8'),
)

/** A vector as arguments of the package. */
function termsOf(vector: Vector) {
  const { algorithm, encoding, signedContent, timestamp } = vector
  // The vectors do not name the unit: thirteen digits are milliseconds.
  const timestampUnit = timestamp > 1e12 ? 'ms' : 's'
  const signature: SignatureOptions = { algorithm, encoding, signedContent, timestampUnit }
  return {
    signature,
    secret: Uint8Array.from(Buffer.from(vector.secretBase64, 'base64')),
    body: Uint8Array.from(Buffer.from(vector.bodyBase64, 'base64')),
    header: `t=${timestamp},v1=${vector.signature}`,
    ms: timestampUnit === 'ms' ? timestamp : timestamp * 1000,
  }
}

describe.each<EngineName>(['node', 'web'])('on the %s engine', (engine) => {
  let copy: PackageCopy

  beforeAll(async () => {
    copy = await packageWithEngine(engine)
  })

  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('it is this engine that computes', async () => {
    const webSign = vi.spyOn(globalThis.crypto.subtle, 'sign')
    const header = await copy.api.signPayload('{}', { secret: 'k' })
    await copy.api.verifySignature('{}', header, { secret: 'k' })
    expect(webSign).toHaveBeenCalledTimes(engine === 'web' ? 2 : 0)
  })

  test.each(vectors)('$name: signing gives the very header', async (vector) => {
    const { body, secret, signature, header } = termsOf(vector)
    expect(await copy.api.signPayload(body, { secret, signature, timestamp: vector.timestamp })).toBe(header)
  })

  test.each(vectors)('$name: the header verifies', async (vector) => {
    const { body, secret, signature, header, ms } = termsOf(vector)
    expect(await copy.api.verifySignature(body, header, { secret, signature, now: () => ms })).toEqual({
      signedAt: new Date(ms),
      secretIndex: 0,
    })
  })

  test.each(vectors)('$name: one bit off in the signature does not verify', async (vector) => {
    const { body, secret, signature, ms } = termsOf(vector)
    const off = vector.signature.startsWith('0') ? '1' : '0'
    const header = `t=${vector.timestamp},v1=${off}${vector.signature.slice(1)}`
    await expect(
      copy.api.verifySignature(body, header, { secret, signature, now: () => ms }),
    ).rejects.toMatchObject({ code: 'signature_mismatch' })
  })
})
