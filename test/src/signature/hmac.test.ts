import * as nodeCrypto from 'node:crypto'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type HmacEngine, nodeEngine, secretKey, webEngine } from '../../../src/signature/hmac.js'
import { withProcess } from '../../support/engines.js'
import { throws } from '../../support/promises.js'

const node = nodeEngine(nodeCrypto)
const web = webEngine(globalThis.crypto)

afterEach(() => {
  vi.restoreAllMocks()
})

// signature.test.ts has each engine verify the other's signatures.
test('the two engines agree on SHA-256 of any text', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
      expect(await web.sha256Hex(text)).toBe(await node.sha256Hex(text))
    }),
  )
  expect(await node.sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

describe.each<[string, HmacEngine]>([
  ['node', node],
  ['web', web],
])('equal on the %s engine', (_, { equal }) => {
  const ascii = fc.string({ unit: 'binary-ascii', maxLength: 130 })
  const copy = (text: string): string => Buffer.from(text).toString()

  test('fails for one character anywhere, whatever was compared before', () => {
    fc.assert(
      fc.property(
        ascii,
        fc.nat(),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        (a, at, other) => {
          const index = at % (a.length + 1)
          const b = a.slice(0, index) + other + a.slice(index + other.length)
          equal(a, copy(a))
          expect(equal(b, a)).toBe(a === b)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  test('fails, and does not throw, for text that is not ASCII', () => {
    // Two characters of four bytes: the second must not leave the previous content.
    equal('ab', copy('ab'))
    for (const text of ['a\u00e9', '\u00e9b', '\u{1f3ab}', 'a\ud800']) expect(equal(text, 'ab')).toBe(false)
  })
})

test('a secret is imported once for each hash on the web engine, also by deliveries that come together', async () => {
  const importKey = vi.spyOn(globalThis.crypto.subtle, 'importKey')
  const key = secretKey(Buffer.from('k'))
  const sign = () => web.hmac('SHA-256', key, '', Buffer.from('{}'), 'hex')
  const [first, second] = await Promise.all([sign(), sign()])
  expect(first).toBe(second)
  expect(importKey).toHaveBeenCalledTimes(1)
  await web.hmac('SHA-512', key, '', Buffer.from('{}'), 'hex')
  expect(importKey).toHaveBeenCalledTimes(2)
})

describe('the engine is chosen at the first call', () => {
  /** Whether this engine computes with Web Crypto. */
  async function isWeb(engine: HmacEngine): Promise<boolean> {
    const digest = vi.spyOn(globalThis.crypto.subtle, 'digest')
    await engine.sha256Hex('')
    return digest.mock.calls.length > 0
  }

  test.each<[string, object | undefined]>([
    ['there is no process', undefined],
    ['process has no getBuiltinModule, as before Node 20.16', {}],
    ['getBuiltinModule only throws', { getBuiltinModule: throws(new Error('not supported here')) }],
  ])('as Web Crypto where %s', async (_, other) => {
    vi.resetModules()
    const { hmacEngine } = await import('../../../src/signature/hmac.js')
    expect(await isWeb(withProcess(other, hmacEngine))).toBe(true)
    // The choice is kept, even if process changes.
    expect(await isWeb(hmacEngine())).toBe(true)
  })
})
