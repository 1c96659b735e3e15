import { afterEach, expect, test, vi } from 'vitest'
import { tokenSource } from '../../../src/idempotency/token.js'

afterEach(() => {
  vi.restoreAllMocks()
})

test('nothing random is made before the first token, and once for all of them', () => {
  const random = vi.spyOn(crypto, 'randomUUID')
  const next = tokenSource()
  expect(random).not.toHaveBeenCalled()
  next()
  next()
  expect(random).toHaveBeenCalledOnce()
})

test('no two tokens are alike, of one source or of several', () => {
  const sources = Array.from({ length: 10 }, tokenSource)
  const tokens = sources.flatMap((next) => Array.from({ length: 10_000 }, next))
  expect(new Set(tokens).size).toBe(100_000)
})

test('a token is at most 64 characters of printable ASCII, however many there were', () => {
  const next = tokenSource()
  for (let i = 0; i < 100_000; i++) next()
  const token = next()
  expect(token).toMatch(/^[!-~]{1,64}$/)
  // The longest that it can become while counting is exact.
  expect(
    token.length - (100_001).toString(36).length + Number.MAX_SAFE_INTEGER.toString(36).length,
  ).toBeLessThan(65)
})

test('a token does not show how the other ones of its process begin', () => {
  const [one, two] = [tokenSource()(), tokenSource()()]
  expect(one.slice(0, 36)).not.toBe(two.slice(0, 36))
})
