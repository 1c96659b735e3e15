/*
 * A Bloom filter: for most keys it shows that a generation does not hold them, without a look-up in its map. A new key is in none of the
 * generations, and if they are large, a claim would spend its time on those look-ups.
 */

/** 16 bits for a key, two of which are set, in one word so that a check reads memory once. */
const KEYS_PER_WORD = 2
/** A megabyte: larger generations get more false positives. */
const MAX_WORDS = 2 ** 18
/** Keys end in an id or a digest. Keys that share so many last characters only cost time. */
const HASHED_LENGTH = 16

/** A hash (FNV-1a): equal for equal keys, and rarely for others. */
export function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = Math.max(0, key.length - HASHED_LENGTH); i < key.length; i++) {
    hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  }
  return hash
}

/** Makes an empty filter for this many keys. The number of its words is a power of two. */
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

/** A shift uses only the lowest five bits of its count. */
function bitsOf(hash: number): number {
  return (1 << hash) | (1 << (hash >>> 5))
}
