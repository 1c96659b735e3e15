/** @module-tag slow */
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { envelopes } from 'tix-webhooks/testing/fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { bodyVariants } from '../../diagnose/body-variants.js'
import { contentVariants } from '../../diagnose/content-variants.js'
import { diagnose } from '../../diagnose/diagnose.js'
import { secretVariants } from '../../diagnose/secret-variants.js'

const NOW = Date.UTC(2026, 4, 17, 14, 2, 11)
const T = String(NOW / 1000)

const ALGORITHMS = [
  { what: '', value: 'sha256' },
  { what: 'HMAC-SHA512', value: 'sha512' },
]
const ENCODINGS = ['hex', 'base64'] as const

/** A secret as services make them, or as people do. */
const secrets = fc.oneof(
  fc
    .uint8Array({ minLength: 12, maxLength: 40 })
    .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`),
  fc.uint8Array({ minLength: 12, maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  fc.stringMatching(/^[a-z][a-z0-9_-]{6,70}[a-z0-9]$/),
)
const bodies = envelopes().map((envelope) => Buffer.from(JSON.stringify(envelope)))

/** One of a list, by a number that fast-check shrinks to the first. */
const picked = <Value>(list: readonly Value[], index: number): Value => list[index % list.length] as Value

test('the diagnosis names each of one or two differences', async () => {
  const index = fc.nat(1000)
  await fc.assert(
    fc.asyncProperty(
      fc.record({ secret: secrets, body: bodies, indices: fc.array(index, { minLength: 4, maxLength: 4 }) }),
      fc.constantFrom(...ENCODINGS),
      async ({ secret, body, indices: [a = 0, b = 0, c = 0, d = 0] }, encoding) => {
        const content = picked([{ what: '', value: dotted }, ...contentVariants({})], a)
        const changed = picked(bodyVariants(body), b)
        const key = picked(secretVariants(secret), c)
        const algorithm = picked(ALGORITHMS, d)
        const whats = [content, changed, key, algorithm].map(({ what }) => what).filter((what) => what !== '')
        fc.pre(whats.length > 0 && whats.length <= 2)
        const v1 = createHmac(algorithm.value, key.value)
          .update(content.value(T, changed.value))
          .digest(encoding)
        const diagnosis = await diagnose({ secret, header: `t=${T},v1=${v1}`, body, now: () => NOW })
        expect(diagnosis).toMatchObject({ valid: false, code: 'signature_mismatch' })
        for (const what of whats) expect(diagnosis.findings[0]).toContain(what)
      },
    ),
    { numRuns: runs(25) },
  )
})

test('what was signed as the options say is never explained away', async () => {
  await fc.assert(
    fc.asyncProperty(secrets, bodies, async (secret, body) => {
      const v1 = createHmac('sha256', secret).update(dotted(T, body)).digest('hex')
      expect(await diagnose({ secret, header: `t=${T},v1=${v1}`, body, now: () => NOW })).toMatchObject({
        valid: true,
      })
    }),
    { numRuns: runs(10) },
  )
})

function dotted(t: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${t}.`), body])
}
