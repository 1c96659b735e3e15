/**
 * The only HMAC module: two engines behind one interface. `node:crypto` is several times faster than Web Crypto, so it is used if the
 * runtime has it; it is looked up at run time, so that one build serves Node, Bun, Deno, browsers and edge.
 */

import { checkNodeVersion } from '../lib/node-version.js'
import type { MaybePromise } from '../lib/promises.js'

export type HmacAlgorithm = 'SHA-256' | 'SHA-512'

/** A secret and its imported keys, so that a key is imported once and not for each delivery. */
export interface SecretKey {
  readonly bytes: Uint8Array
  /** Web Crypto needs one for each algorithm. */
  readonly imported: { [engine in 'node' | HmacAlgorithm]?: unknown }
}

export function secretKey(bytes: Uint8Array): SecretKey {
  return { bytes, imported: {} }
}

type HmacEncoding = 'hex' | 'base64'

export interface HmacEngine {
  /** HMAC over the UTF-8 bytes of `prefix`, then `content`, as text: hex is lower-case. */
  hmac(
    algorithm: HmacAlgorithm,
    key: SecretKey,
    prefix: string,
    content: Uint8Array,
    encoding: HmacEncoding,
  ): MaybePromise<string>
  /** SHA-256 of bytes, or of the UTF-8 bytes of a text, in lower-case hex. */
  sha256Hex(content: string | Uint8Array): MaybePromise<string>
  /** A random UUID, for a token: not every Node has the global `crypto`. */
  randomUuid(): string
  /** Whether both texts are equal, in a time that depends only on their length. */
  equal(a: string, b: string): boolean
}

type NodeCrypto = typeof import('node:crypto')
type NodeKey = import('node:crypto').KeyObject

/** The part of `process` that gives `node:crypto`, if available: Node ≥ 20.16, Bun, Deno, Workers with nodejs_compat. */
interface MaybeNode {
  process?: { getBuiltinModule?: (id: string) => NodeCrypto | undefined }
}

let engine: HmacEngine | undefined

/** The engine of this runtime, chosen at the first call. */
export function hmacEngine(): HmacEngine {
  if (engine === undefined) {
    checkNodeVersion()
    const nodeCrypto = findNodeCrypto()
    engine = nodeCrypto === undefined ? webEngine(globalThis.crypto) : nodeEngine(nodeCrypto)
  }
  return engine
}

function findNodeCrypto(): NodeCrypto | undefined {
  try {
    return (globalThis as MaybeNode).process?.getBuiltinModule?.('node:crypto')
  } catch {
    // Next's edge runtime has one that always throws.
    return undefined
  }
}

export function nodeEngine(crypto: NodeCrypto): HmacEngine {
  const names = { 'SHA-256': 'sha256', 'SHA-512': 'sha512' } as const
  return {
    hmac(algorithm, key, prefix, content, encoding) {
      key.imported.node ??= crypto.createSecretKey(key.bytes)
      const hmac = crypto.createHmac(names[algorithm], key.imported.node as NodeKey)
      // As text, because node:crypto allocates memory for each digest that is a buffer, at a fifth of the total cost.
      return hmac.update(prefix).update(content).digest(encoding)
    },
    sha256Hex(content) {
      return crypto.createHash('sha256').update(content).digest('hex')
    },
    randomUuid: () => crypto.randomUUID(),
    equal(a, b) {
      if (a.length !== b.length) return false
      const [bytesOfA, bytesOfB] = scratchOf(a.length)
      return write(a, bytesOfA) && write(b, bytesOfB) && crypto.timingSafeEqual(bytesOfA, bytesOfB)
    },
  }
}

export function webEngine(crypto: Crypto): HmacEngine {
  return {
    async hmac(algorithm, key, prefix, content, encoding) {
      const scheme = { name: 'HMAC', hash: algorithm }
      key.imported[algorithm] ??= crypto.subtle.importKey('raw', key.bytes as BufferSource, scheme, false, [
        'sign',
      ])
      const cryptoKey = await (key.imported[algorithm] as Promise<CryptoKey>)
      const signed = concatBytes(encoder.encode(prefix), content)
      const signature = await crypto.subtle.sign('HMAC', cryptoKey, signed as BufferSource)
      return encode(new Uint8Array(signature), encoding)
    },
    async sha256Hex(content) {
      const bytes = typeof content === 'string' ? encoder.encode(content) : content
      return encodeHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource)))
    },
    randomUuid: () => crypto.randomUUID(),
    equal(a, b) {
      // Web Crypto has no comparison of its own. No early exit: every character is compared, whatever the ones before it were.
      if (a.length !== b.length) return false
      let difference = 0
      for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
      return difference === 0
    },
  }
}

const encoder = new TextEncoder()

/** Buffers for comparing texts, by length: signatures have few lengths. */
const scratches = new Map<number, readonly [Uint8Array, Uint8Array]>()

function scratchOf(length: number): readonly [Uint8Array, Uint8Array] {
  let scratch = scratches.get(length)
  if (scratch === undefined) {
    scratch = [new Uint8Array(length), new Uint8Array(length)]
    scratches.set(length, scratch)
  }
  return scratch
}

/** Whether the text fills the bytes: a text that is not ASCII may leave some unchanged. */
function write(text: string, bytes: Uint8Array): boolean {
  return encoder.encodeInto(text, bytes).written === bytes.length
}

function concatBytes(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length)
  whole.set(first)
  whole.set(second, first.length)
  return whole
}

/** Lower-case hex. */
function encodeHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += (byte + 0x100).toString(16).slice(1)
  return hex
}

/** Bytes as text for a header. */
function encode(bytes: Uint8Array, encoding: 'hex' | 'base64'): string {
  return encoding === 'hex' ? encodeHex(bytes) : btoa(String.fromCharCode(...bytes))
}
