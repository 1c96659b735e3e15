import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, encode, encodeHex } from '../../src/encoding.js'

describe.each(['hex', 'base64'] as const)('%s', (encoding) => {
  test.each([32, 64])('gives back the %i bytes that were written', (length) => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: length, maxLength: length }), (bytes) => {
        const text = encode(bytes, encoding)
        expect(text).toBe(Buffer.from(bytes).toString(encoding))
        expect(decode(text, encoding, length)).toEqual(bytes)
      }),
    )
  })

  test('reads nothing of another length or alphabet, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
        const bytes = decode(text, encoding, 32)
        expect(bytes === undefined || bytes.length === 32).toBe(true)
      }),
    )
  })
})

test('hex is written in lower case and read in either', () => {
  const bytes = new Uint8Array(32).fill(0xab)
  expect(encodeHex(bytes)).toBe('ab'.repeat(32))
  expect(decode('AB'.repeat(32), 'hex', 32)).toEqual(bytes)
})
