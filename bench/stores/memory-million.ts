import { memoryStore } from 'tix-webhooks'
import type { Bench } from '../support/bench.js'
import { alternateWarm, cpuTimeOf } from '../support/cpu-time.js'
import { short, spread, times } from '../support/figures.js'
import { type Goal, judged } from '../support/goal.js'
import type { Table } from '../support/report.js'
import { type Figures, ratios } from '../support/rounds.js'
import { type Contender, nextKey, throughStore } from './contender.js'
import { filledSet, heapOf } from './full-memory.js'

const TIME: Goal = { atMost: 1.5 }
const TO_SET: Goal = { atMost: 1.6 }
const BYTES = 140

/** The cost of the memory store at a million keys: the time of a delivery, and the memory of a key. */
export async function memoryMillion(bench: Bench): Promise<Table> {
  const [few, many] = [1_000, bench.size(1_000_000, 20_000)]
  bench.progress(`memory store: ${few} and ${many} keys`)
  const set = (await filledSet(many)).bytes / many
  const small = await heapOf(few, () => filling(few))
  const large = await heapOf(many, () => filling(many))
  const bytes = large.bytes / many

  const calls = bench.size(10_000, 200)
  const contestants = [small, large].map(
    ({ kept }) =>
      () =>
        cpuTimeOf(() => kept.deliver(nextKey()), calls),
  )
  const [atFew = [], atMany = []] = await alternateWarm(bench.size(31, 2), contestants)
  const [at, atSmall] = [many, few].map((count) => count.toLocaleString('en'))
  return {
    title: `The memory store at ${at} keys`,
    columns: ['what', 'figure', 'beside', 'its figure', 'ratio', 'goal', ''],
    rows: [
      row('claim and complete, µs', atMany, `at ${atSmall} keys`, atFew, TIME),
      row('bytes per key', [bytes], 'a Set of the keys', [set], TO_SET),
      ['bytes per key', short(bytes), '', '', '', `≤ ${BYTES}`, bytes <= BYTES ? 'reached' : 'missed'],
    ],
    notes: [
      'Microseconds are those of the processor. Both stores are full when they are timed: each new key is claimed and completed one after another, and now and then an eighth of the records is dropped.',
      'Bytes are those of the heap and of typed arrays outside of it. Keys have 34 characters, tokens 42.',
    ],
  }
}

/** A store whose capacity is the number of keys it is filled with. */
function filling(count: number): { kept: Contender; add: Contender['deliver'] } {
  const store = memoryStore({ maxKeys: count, onEvict: () => {} })
  const kept = throughStore('memoryStore', store)
  return { kept, add: kept.deliver }
}

function row(what: string, figures: Figures, beside: string, others: Figures, goal: Goal): string[] {
  const ratio = ratios(figures, others)
  const [cell, verdict] = judged(ratio, goal)
  return [
    what,
    cellOf(figures),
    beside,
    cellOf(others),
    ratio.length > 1 ? spread(ratio, times) : times(ratio[0] ?? 0),
    cell,
    verdict,
  ]
}

function cellOf(figures: Figures): string {
  return figures.length > 1 ? spread(figures, short) : short(figures[0] ?? 0)
}
