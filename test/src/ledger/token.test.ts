import { afterEach, expect, test, vi } from 'vitest'
import { tokenSource } from '../../../src/ledger/guard.js'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { packageWithEngine } from '../../support/engines.js'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const tokens = (): (() => string) => tokenSource(() => crypto.randomUUID())

test('no two tokens are alike, of one source or of several', () => {
  const sources = Array.from({ length: 10 }, tokens)
  const made = sources.flatMap((next) => Array.from({ length: 1_000 }, next))
  expect(new Set(made).size).toBe(10_000)
})

test('the tokens of two sources differ even if a test has stubbed randomness', () => {
  const stubbed = () => '00000000-0000-4000-8000-000000000000'
  expect(tokenSource(stubbed)()).not.toBe(tokenSource(stubbed)())
})

test('a token is at most 64 characters of printable ASCII, however many there were', () => {
  const next = tokens()
  for (let i = 0; i < 100_000; i++) next()
  const token = next()
  expect(token).toMatch(/^[!-~]{1,64}$/)
  // The longest that it can become while counting is exact.
  expect(
    token.length - (100_001).toString(36).length + Number.MAX_SAFE_INTEGER.toString(36).length,
  ).toBeLessThan(65)
})

test('a Node without the global crypto has node:crypto: a delivery is handled', async () => {
  const { api } = await packageWithEngine('node')
  const receiver = api.createReceiver({ secret: SECRET, on: { 'order.created': () => {} } })
  const delivery = { ...(await sign(orderCreated())), request: null }
  vi.stubGlobal('crypto', undefined)
  expect(await receiver.receive(delivery)).toEqual({ outcome: 'handled' })
})
