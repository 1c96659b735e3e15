import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addTo, createFilter, hashOf, mayHold } from '../../../../src/idempotency/memory/key-filter.js'

test('may hold whatever was added to it, however much that is', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 }), fc.array(fc.string({ maxLength: 40 })), (keys, added) => {
      const filter = createFilter(keys)
      for (const key of added) addTo(filter, hashOf(key))
      for (const key of added) expect(mayHold(filter, hashOf(key))).toBe(true)
    }),
  )
})

test('holds nothing at first', () => {
  expect(mayHold(createFilter(1), hashOf('k'))).toBe(false)
})

describe('holds few of the keys that were not added', () => {
  const sha256 = (text: string) => createHash('sha256').update(text).digest()

  test.each<[string, (n: number) => string]>([
    ['numbers', (n) => `orders/order.created/${n}`],
    ['digests', (n) => sha256(`${n}`).toString('hex')],
    ['random ids', (n) => `orders/order.created/${sha256(`${n}`).toString('base64url').slice(0, 14)}`],
  ])('%s', { tags: ['slow'] }, (_, keyOf) => {
    for (const count of [1_000, 30_000]) {
      const filter = createFilter(count)
      for (let n = 0; n < count; n++) addTo(filter, hashOf(keyOf(n)))

      let falsePositives = 0
      for (let n = count; n < 2 * count; n++) if (mayHold(filter, hashOf(keyOf(n)))) falsePositives++

      expect(falsePositives / count).toBeLessThan(0.05)
    }
  })
})

test('stays small, whatever it is to hold', () => {
  expect(createFilter(Number.MAX_SAFE_INTEGER).byteLength).toBe(2 ** 20)
  expect(createFilter(250_000 / 8).byteLength).toBe(2 ** 16)
})
