import nodeCrypto from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import { tokenSource } from '../../../src/idempotency/token.js'
import { orderCreated, SECRET } from '../../support/deliveries.js'
import { packageWithEngine } from '../../support/engines.js'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

test('nothing random is made before the first token, and once for all of them', () => {
  // One of them, by the engine.
  const randoms = [vi.spyOn(nodeCrypto, 'randomUUID'), vi.spyOn(crypto, 'randomUUID')]
  const calls = (): unknown[] => randoms.flatMap(({ mock }) => mock.calls)
  const next = tokenSource()
  expect(calls()).toEqual([])
  next()
  next()
  expect(calls()).toHaveLength(1)
})

test('no two tokens are alike, of one source or of several', () => {
  const sources = Array.from({ length: 10 }, tokenSource)
  const tokens = sources.flatMap((next) => Array.from({ length: 10_000 }, next))
  expect(new Set(tokens).size).toBe(100_000)
})

test('the tokens of two sources differ even if a test has stubbed randomness', () => {
  for (const one of [nodeCrypto, crypto]) {
    vi.spyOn(one, 'randomUUID').mockReturnValue('00000000-0000-4000-8000-000000000000')
  }
  expect(tokenSource()()).not.toBe(tokenSource()())
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

test('a Node without the global crypto has node:crypto: a delivery is handled', async () => {
  const { api } = await packageWithEngine('node')
  vi.stubGlobal('crypto', undefined)
  const receiver = api.createReceiver({ secret: SECRET, on: { 'order.created': () => {} } })
  const body = new TextEncoder().encode(JSON.stringify(orderCreated()))
  const header = await api.signPayload(body, { secret: SECRET })
  expect(await receiver.receive({ header, body, request: null })).toEqual({ outcome: 'handled' })
})
