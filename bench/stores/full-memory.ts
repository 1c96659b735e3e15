import { type IdempotencyStore, memoryStore } from 'tix-webhooks'
import type { Bench } from '../support/bench.js'
import { nextKey, throughStore } from './contender.js'
import type { Counts, Full } from './full.js'

export async function fullMemory(bench: Bench, { few, many }: Counts): Promise<Full> {
  bench.progress(`memory: ${many} events`)
  const set = await filledSet(many)
  const full = await heapOf(many, () => filling(many))
  const small = filling(few)
  for (let n = 0; n < few; n++) await small.add(nextKey())
  return {
    name: 'memoryStore',
    few: small.kept,
    many: full.kept,
    sizes: [
      { what: 'memoryStore', bytesPerEvent: full.bytes / many },
      { what: 'memory by hand: a Set of the same keys', bytesPerEvent: set.bytes / many },
    ],
    close: async () => {},
  }
}

/** The minimal way to remember this many keys. */
export function filledSet(count: number): Promise<Filled<Set<string>>> {
  return heapOf(count, () => {
    const seen = new Set<string>()
    return { kept: seen, add: async (key) => void seen.add(key) }
  })
}

/** A filled store, and the memory that it takes. */
export interface Filled<T> {
  readonly kept: T
  readonly bytes: number
}

/** A store that is filled one key at a time. */
export interface Filling<T> {
  readonly kept: T
  add(key: string): Promise<unknown>
}

function filling(count: number): Filling<IdempotencyStore> {
  const kept = memoryStore({ maxKeys: 2 * count })
  return { kept, add: throughStore('memoryStore', kept).deliver }
}

/** Fills it with this many keys, which are not used again, and measures the memory that takes. */
export async function heapOf<T>(count: number, make: () => Filling<T>): Promise<Filled<T>> {
  const before = heap()
  const { kept, add } = make()
  for (let n = 0; n < count; n++) await add(nextKey())
  return { kept, bytes: heap() - before }
}

/** Includes typed arrays, whose memory is outside the heap. */
function heap(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
