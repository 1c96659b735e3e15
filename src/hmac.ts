/**
 * The one HMAC module: two engines behind one interface. `node:crypto` is several times faster than Web Crypto, so it is
 * used where the runtime has it; it is looked up at run time, so that one build serves Node, Bun, Deno, browsers and edge.
 */

export type HmacAlgorithm = 'SHA-256' | 'SHA-512'

/** A secret with what an engine made of it, so that a key is imported once and not for each delivery. */
export interface SecretKey {
  readonly bytes: Uint8Array
  readonly imported: Map<HmacAlgorithm, unknown>
}

export function secretKey(bytes: Uint8Array): SecretKey {
  return { bytes, imported: new Map() }
}

export interface HmacEngine {
  /** HMAC over the UTF-8 bytes of `prefix`, then `content`. */
  hmac(algorithm: HmacAlgorithm, key: SecretKey, prefix: string, content: Uint8Array): Promise<Uint8Array>
  sha256(content: Uint8Array): Promise<Uint8Array>
  /** Whether both hold the same bytes, in a time that depends on their length alone. */
  equal(a: Uint8Array, b: Uint8Array): boolean
}

type NodeCrypto = typeof import('node:crypto')
type NodeKey = import('node:crypto').KeyObject

/** What of `process` tells us whether `node:crypto` can be had: Node ≥ 20.16, Bun, Deno, Workers with nodejs_compat. */
interface MaybeNode {
  process?: { getBuiltinModule?: (id: string) => NodeCrypto | undefined }
}

let engine: HmacEngine | undefined

/** The engine of this runtime, chosen at the first call and then kept. */
export function hmacEngine(): HmacEngine {
  if (engine === undefined) {
    const nodeCrypto = (globalThis as MaybeNode).process?.getBuiltinModule?.('node:crypto')
    engine = nodeCrypto === undefined ? webEngine(globalThis.crypto) : nodeEngine(nodeCrypto)
  }
  return engine
}

export function nodeEngine(crypto: NodeCrypto): HmacEngine {
  const names = { 'SHA-256': 'sha256', 'SHA-512': 'sha512' } as const
  return {
    async hmac(algorithm, key, prefix, content) {
      const imported = key.imported as Map<HmacAlgorithm, NodeKey>
      let keyObject = imported.get(algorithm)
      if (keyObject === undefined) {
        keyObject = crypto.createSecretKey(key.bytes)
        imported.set(algorithm, keyObject)
      }
      return crypto.createHmac(names[algorithm], keyObject).update(prefix).update(content).digest()
    },
    async sha256(content) {
      return crypto.createHash('sha256').update(content).digest()
    },
    equal(a, b) {
      return a.length === b.length && crypto.timingSafeEqual(a, b)
    },
  }
}

export function webEngine(crypto: Crypto): HmacEngine {
  return {
    async hmac(algorithm, key, prefix, content) {
      const imported = key.imported as Map<HmacAlgorithm, Promise<CryptoKey>>
      let cryptoKey = imported.get(algorithm)
      if (cryptoKey === undefined) {
        const scheme = { name: 'HMAC', hash: algorithm }
        cryptoKey = crypto.subtle.importKey('raw', key.bytes as BufferSource, scheme, false, ['sign'])
        imported.set(algorithm, cryptoKey)
      }
      const signed = concatBytes(new TextEncoder().encode(prefix), content)
      return new Uint8Array(await crypto.subtle.sign('HMAC', await cryptoKey, signed as BufferSource))
    },
    async sha256(content) {
      return new Uint8Array(await crypto.subtle.digest('SHA-256', content as BufferSource))
    },
    equal(a, b) {
      // Web Crypto has no comparison of its own. No early exit: every byte is looked at, whatever the ones before it were.
      if (a.length !== b.length) return false
      let difference = 0
      for (let i = 0; i < a.length; i++) difference |= (a[i] as number) ^ (b[i] as number)
      return difference === 0
    },
  }
}

function concatBytes(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length)
  whole.set(first)
  whole.set(second, first.length)
  return whole
}
