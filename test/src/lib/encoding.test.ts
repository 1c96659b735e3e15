import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encode, encodeHex } from '../../../src/lib/encoding.js'

test.each(['hex', 'base64'] as const)('%s is what node:buffer writes', (encoding) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      expect(encode(bytes, encoding)).toBe(Buffer.from(bytes).toString(encoding))
    }),
  )
})

test('hex is written in lower case', () => {
  expect(encodeHex(new Uint8Array(32).fill(0xab))).toBe('ab'.repeat(32))
})
