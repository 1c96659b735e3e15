/*
 * Tells of most keys that a generation does not hold them, without a look into its map: a Bloom filter. A new key is in none
 * of the generations, and where they are large, it is those looks that a claim would spend its time on.
 */

/** 16 bits for a key, two of which stand for it, in one word so that they are one look into memory. */
const KEYS_PER_WORD = 2
/** A megabyte: what is larger still is looked into in vain more often. */
const MAX_WORDS = 2 ** 18
/** Keys end in an id or a digest. Those that are alike in so many characters cost time, and nothing else. */
const HASHED_LENGTH = 16

/** A number that is the same for equal keys, and seldom for others (FNV-1a). */
export function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = Math.max(0, key.length - HASHED_LENGTH); i < key.length; i++) {
    hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  }
  return hash
}

/** Makes an empty filter for so many keys. The number of its words is a power of two. */
export function createFilter(keys: number): Uint32Array {
  const words = 2 ** Math.ceil(Math.log2(Math.max(1, keys / KEYS_PER_WORD)))
  return new Uint32Array(Math.min(words, MAX_WORDS))
}

/** Adds a key by its hash. */
export function addTo(filter: Uint32Array, hash: number): void {
  const at = wordOf(filter, hash)
  filter[at] = (filter[at] as number) | bitsOf(hash)
}

/** Whether the key of this hash may have been added: `false` is certain. */
export function mayHold(filter: Uint32Array, hash: number): boolean {
  const bits = bitsOf(hash)
  return ((filter[wordOf(filter, hash)] as number) & bits) === bits
}

function wordOf(filter: Uint32Array, hash: number): number {
  return (hash >>> 10) & (filter.length - 1)
}

/** A shift counts by its lowest five bits. */
function bitsOf(hash: number): number {
  return (1 << hash) | (1 << (hash >>> 5))
}
