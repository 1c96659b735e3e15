import { type IdempotencyStore, memoryStore } from 'tix-webhooks'
import type { Bench } from '../support/bench.js'
import { keyOf, throughStore } from './contender.js'
import type { Counts, Full } from './million.js'

export async function fullMemory(bench: Bench, { few, many }: Counts): Promise<Full> {
  bench.progress(`memory: ${many} events`)
  const sets = await heapOf(many, () => {
    const seen = new Set<string>()
    return { kept: seen, add: async (key) => void seen.add(key) }
  })
  const full = await heapOf(many, () => filling(many))
  const small = filling(few)
  for (let n = 1; n <= few; n++) await small.add(keyOf(n))
  return {
    name: 'memoryStore',
    few: small.kept,
    many: full.kept,
    sizes: [
      { what: 'memoryStore', bytesPerEvent: full.bytes / many },
      { what: 'memory by hand: a Set of the same keys', bytesPerEvent: sets.bytes / many },
    ],
    close: async () => {},
  }
}

interface Filling<T> {
  readonly kept: T
  add(key: string): Promise<unknown>
}

function filling(count: number): Filling<IdempotencyStore> {
  const kept = memoryStore({ maxKeys: 2 * count })
  return { kept, add: throughStore('memoryStore', kept).deliver }
}

async function heapOf<T>(count: number, make: () => Filling<T>): Promise<{ kept: T; bytes: number }> {
  const before = heap()
  const { kept, add } = make()
  for (let n = 1; n <= count; n++) await add(keyOf(n))
  return { kept, bytes: heap() - before }
}

function heap(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
