import { memoryStore } from 'tix-webhooks'
import type { Bench } from '../support/bench.js'
import { timeBeside } from '../support/comparison.js'
import { alternateWarm, cpuTimeOf } from '../support/cpu-time.js'
import type { Goal } from '../support/goal.js'
import type { Table } from '../support/report.js'
import { type Contender, nextKey, throughStore } from './contender.js'

const TIME: Goal = { atMost: 1.5 }

/** The cost of the memory store at a million keys: the time of a delivery, and the memory of a key. */
export async function memoryMillion(bench: Bench): Promise<Table> {
  const [few, many] = [1_000, bench.size(1_000_000, 20_000)]
  bench.progress(`memory store: ${few} and ${many} keys`)
  const set = (await filledSet(many)).bytes / many
  const small = await heapOf(few, () => filling(few))
  const large = await heapOf(many, () => filling(many))
  const bytes = large.bytes / many

  const calls = bench.size(5_000, 200)
  const contestants = [small, large].map(
    ({ kept }) =>
      () =>
        cpuTimeOf(() => kept.deliver(nextKey()), calls),
  )
  const [atFew = [], atMany = []] = await alternateWarm(bench.size(32, 2), contestants)
  const [at, atSmall] = [many, few].map((count) => count.toLocaleString('en'))
  const perKey = { name: 'memoryStore: bytes per key', figures: [bytes] }
  return {
    title: `The memory store at ${at} keys`,
    ratio: 'Its time and its bytes, to others',
    unit: 'µs of processor time, or bytes',
    comparisons: [
      timeBeside(
        { name: 'memoryStore: a claim and its completion', figures: atMany },
        { name: `at ${atSmall} keys`, figures: atFew },
        TIME,
      ),
      timeBeside(perKey, { name: 'a Set of the keys', figures: [set] }),
    ],
    notes: [
      'Both stores are full when they are timed: each new key drops the oldest.',
      'Bytes of the heap and of typed arrays outside of it. Keys have 34 characters, tokens 42.',
    ],
  }
}

/** A store whose capacity is the number of keys it is filled with. */
function filling(count: number): { kept: Contender; add: Contender['deliver'] } {
  const store = memoryStore({ maxKeys: count, onEvict: () => {} })
  const kept = throughStore('memoryStore', store)
  return { kept, add: kept.deliver }
}

/** The minimal way to remember this many keys. */
function filledSet(count: number): Promise<Filled<Set<string>>> {
  return heapOf(count, () => {
    const seen = new Set<string>()
    return { kept: seen, add: async (key) => void seen.add(key) }
  })
}

/** A filled store, and the memory that it takes. */
interface Filled<T> {
  readonly kept: T
  readonly bytes: number
}

/** A store that is filled one key at a time. */
interface Filling<T> {
  readonly kept: T
  add(key: string): Promise<unknown>
}

/** Fills it with this many keys, which are not used again, and measures the memory that takes. */
async function heapOf<T>(count: number, make: () => Filling<T>): Promise<Filled<T>> {
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
