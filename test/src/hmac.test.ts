import * as nodeCrypto from 'node:crypto'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type HmacEngine, nodeEngine, secretKey, webEngine } from '../../src/hmac.js'
import { packageWithEngine, withProcess } from '../support/engines.js'

const node = nodeEngine(nodeCrypto)
const web = webEngine(globalThis.crypto)

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const algorithms = fc.constantFrom('SHA-256' as const, 'SHA-512' as const)
// Past 128 bytes a secret is longer than a block of either hash, and is hashed before it is used.
const secretBytes = fc.uint8Array({ minLength: 1, maxLength: 300 })
const contents = fc.uint8Array({ maxLength: 500 })
const prefixes = fc.string({ unit: 'binary' })

afterEach(() => {
  vi.restoreAllMocks()
})

describe('the two engines agree', () => {
  test('on the HMAC of any secret, prefix and content', async () => {
    await fc.assert(
      fc.asyncProperty(
        algorithms,
        secretBytes,
        prefixes,
        contents,
        async (algorithm, secret, prefix, content) => {
          const byNode = await node.hmac(algorithm, secretKey(secret), prefix, content)
          const byWeb = await web.hmac(algorithm, secretKey(secret), prefix, content)
          expect(hex(byWeb)).toBe(hex(byNode))
          expect(byNode).toHaveLength(algorithm === 'SHA-256' ? 32 : 64)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('on the prefix being the bytes before the content, and no more', async () => {
    await fc.assert(
      fc.asyncProperty(algorithms, prefixes, contents, async (algorithm, prefix, content) => {
        const whole = Buffer.concat([new TextEncoder().encode(prefix), content])
        for (const engine of [node, web]) {
          const apart = await engine.hmac(algorithm, secretKey(Buffer.from('k')), prefix, content)
          const together = await engine.hmac(algorithm, secretKey(Buffer.from('k')), '', whole)
          expect(hex(apart)).toBe(hex(together))
        }
      }),
    )
  })

  test('on SHA-256 of any content', async () => {
    await fc.assert(
      fc.asyncProperty(contents, async (content) => {
        expect(hex(await web.sha256(content))).toBe(hex(await node.sha256(content)))
      }),
    )
    expect(hex(await node.sha256(Buffer.from('abc')))).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })

  test('on views into larger buffers', async () => {
    const larger = Buffer.from('..content..')
    const view = larger.subarray(2, 9)
    for (const engine of [node, web]) {
      expect(hex(await engine.sha256(view))).toBe(hex(await node.sha256(Buffer.from('content'))))
      expect(hex(await engine.hmac('SHA-256', secretKey(view), '', view))).toBe(
        hex(await node.hmac('SHA-256', secretKey(Buffer.from('content')), '', Buffer.from('content'))),
      )
    }
  })
})

describe.each<[string, HmacEngine]>([
  ['node', node],
  ['web', web],
])('equal on the %s engine', (_, { equal }) => {
  test('holds for the same bytes, and for no others', () => {
    fc.assert(
      fc.property(contents, contents, (a, b) => {
        expect(equal(a, Uint8Array.from(a))).toBe(true)
        expect(equal(a, b)).toBe(Buffer.compare(a, b) === 0)
      }),
    )
  })

  test('fails for one bit anywhere', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), fc.nat(), fc.nat(7), (a, at, bit) => {
        const b = Uint8Array.from(a)
        const index = at % a.length
        b[index] = (b[index] ?? 0) ^ (1 << bit)
        expect(equal(a, b)).toBe(false)
      }),
    )
  })

  test('fails, and does not throw, for other lengths', () => {
    fc.assert(
      fc.property(contents, fc.uint8Array({ minLength: 1 }), (a, more) => {
        const longer = Uint8Array.from([...a, ...more])
        expect(equal(a, longer)).toBe(false)
        expect(equal(longer, a)).toBe(false)
      }),
    )
    expect(equal(new Uint8Array(), new Uint8Array())).toBe(true)
  })
})

describe('a secret is imported once for each hash', () => {
  test('on the web engine, also by deliveries that come together', async () => {
    const importKey = vi.spyOn(globalThis.crypto.subtle, 'importKey')
    const key = secretKey(Buffer.from('k'))
    const sign = () => web.hmac('SHA-256', key, '', Buffer.from('{}'))
    const [first, second] = await Promise.all([sign(), sign()])
    expect(hex(first)).toBe(hex(second))
    expect(importKey).toHaveBeenCalledTimes(1)
    await web.hmac('SHA-512', key, '', Buffer.from('{}'))
    expect(importKey).toHaveBeenCalledTimes(2)
  })

  test('on the node engine', async () => {
    let imports = 0
    const engine = nodeEngine({
      ...nodeCrypto,
      createSecretKey: (key: NodeJS.ArrayBufferView) => {
        imports += 1
        return nodeCrypto.createSecretKey(key)
      },
    } as typeof nodeCrypto)
    const key = secretKey(Buffer.from('k'))
    for (const algorithm of ['SHA-256', 'SHA-512', 'SHA-256'] as const) {
      await engine.hmac(algorithm, key, '', Buffer.from('{}'))
    }
    expect(imports).toBe(2)
  })
})

describe('the engine is chosen at the first call', () => {
  /** Whether this engine computes with Web Crypto. */
  async function isWeb(engine: HmacEngine): Promise<boolean> {
    const digest = vi.spyOn(globalThis.crypto.subtle, 'digest')
    await engine.sha256(new Uint8Array())
    return digest.mock.calls.length > 0
  }

  test('as node:crypto where process can give it', async () => {
    const { hmac } = await packageWithEngine('node')
    expect(await isWeb(hmac.hmacEngine())).toBe(false)
  })

  test.each<[string, object | undefined]>([
    ['there is no process', undefined],
    ['process has no getBuiltinModule, as before Node 20.16', {}],
    ['getBuiltinModule knows no node:crypto', { getBuiltinModule: () => undefined }],
  ])('as Web Crypto where %s', async (_, other) => {
    vi.resetModules()
    const { hmacEngine } = await import('../../src/hmac.js')
    expect(await isWeb(withProcess(other, hmacEngine))).toBe(true)
    // And kept, whatever process becomes.
    expect(await isWeb(hmacEngine())).toBe(true)
  })
})
