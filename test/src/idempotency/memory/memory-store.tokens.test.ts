/** @module-tag slow */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundedStore, RETAIN } from '../../../support/bounded-store.js'

/** Few characters and lengths, so that two tokens often share their start or their end. */
const tokens = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('0', '1', '~', ' '), minLength: 34, maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 5 }),
)

describe('the token of a completed record', () => {
  test('differs from every other', { tags: ['slow'] }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(tokens, { minLength: 2, maxLength: 12 }), async (all) => {
        const set = boundedStore(100)
        for (const [index, token] of all.entries()) {
          await set.claim(`k${index}`, token)
          await set.complete(`k${index}`, token)
        }
        for (const [index, token] of all.entries()) {
          for (const other of all) {
            expect(await set.complete(`k${index}`, other), `${token} and ${other}`).toBe(other === token)
          }
        }
      }),
      { numRuns: 500 },
    )
  })
})

/** 60 completed keys and 60 released ones, in so many generations that most were merged. */
async function mergedStore() {
  const set = boundedStore(240)
  const completed = Array.from({ length: 60 }, (_, index) => ({
    key: `k${index}`,
    token: `token of k${index}`,
    expiresAt: index * 8 + 2 * RETAIN + index,
  }))
  for (const { key, token, expiresAt } of completed) {
    await set.claim(key, token)
    await set.store.complete({ key, token }, expiresAt - set.time())
    await set.claim(`failed ${key}`, token)
    await set.release(`failed ${key}`, token)
    // A short retention starts a generation each time; there are never more than sixteen.
    await set.claim('short')
    await set.store.complete({ key: 'short', token: 'short' }, 64)
    set.advance(8)
  }
  return { set, completed }
}

describe('after generations were merged', () => {
  test('tokens and attempts are still known', async () => {
    const { set, completed } = await mergedStore()

    for (const { key, token } of completed) {
      expect(await set.complete(key, `no ${token}`)).toBe(false)
      expect(await set.claim(key, 'another')).toEqual({ status: 'completed' })
      expect(await set.complete(key, token)).toBe(true)
      expect(await set.release(`failed ${key}`, 'another')).toBe(false)
      expect(await set.claim(`failed ${key}`, 'another')).toEqual({ status: 'claimed', attempt: 2 })
    }
    expect(set.evictions).toEqual([])
  })

  test('each record is still kept as long as it was to be', async () => {
    const { set, completed } = await mergedStore()

    for (const { key, expiresAt } of completed) {
      set.advance(expiresAt - 1 - set.time())
      expect(await set.claim(key, 'another')).toEqual({ status: 'completed' })
      set.advance(1)
      expect(await set.claim(key, 'another')).toEqual({ status: 'claimed', attempt: 1 })
    }
  })
})
