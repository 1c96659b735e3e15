import { addTo, createFilter, hashOf, mayHold } from './key-filter.js'

/** A record that waits for the next claim: it is kept so that `attempt` goes on counting. */
interface Released {
  readonly token: string
  readonly attempt: number
  readonly expiresAt: number
}

/**
 * The records settled within one period, which are forgotten together: no timer and no look-up for each key. A completed record is not an
 * object but an index into three columns, which takes half the memory.
 */
interface Generation {
  readonly startedAt: number
  lastSettledAt: number
  lastExpiry: number
  /** A released record, or the index of a completed one. */
  readonly records: Map<string, Released | number>
  readonly filter: Uint32Array
  readonly expiries: number[]
  readonly tokenHeads: string[]
  readonly tokenTails: number[]
}

/** A settled record and its generation. */
export interface Settled {
  readonly generation: Generation
  readonly record: Released | number
}

/** The settled records by key. Each key is passed with its `hashOf`. */
export interface Generations {
  /** The number of records. */
  readonly size: number
  find(key: string, hash: number, time: number): Settled | undefined
  remove(key: string, settled: Settled): void
  addCompleted(key: string, hash: number, token: string, time: number, retainMs: number): void
  addReleased(key: string, hash: number, released: Released, time: number): void
  /** Removes records past their retention. A generation is removed together with the last of its records. */
  forget(time: number): void
  /** Removes and returns the oldest generation. */
  shift(): Generation | undefined
}

/** An eighth of the retention, or of the capacity, is removed at a time. */
const GENERATIONS = 8
/** Different retentions start generations at different paces; this bounds their number. */
const MAX_GENERATIONS = 2 * GENERATIONS

/**
 * @param maxKeys the most records that it holds
 * @param onStart called when a generation starts, for work that is too slow for each call
 */
export function createGenerations(maxKeys: number, onStart: (time: number) => void): Generations {
  /** Oldest first. A key is in at most one of them. */
  const generations: Generation[] = []
  const internHead = headInterner()
  let size = 0

  /** The generation for records settled now. */
  function current(time: number, retainMs: number): Generation {
    const youngest = generations.at(-1)
    const isFull = youngest !== undefined && slots(youngest) >= maxKeys / GENERATIONS
    const isOld = youngest !== undefined && time - youngest.startedAt >= retainMs / GENERATIONS
    if (youngest !== undefined && !isFull && !(isOld && generations.length < MAX_GENERATIONS)) return youngest
    onStart(time)
    if (generations.length >= MAX_GENERATIONS) mergeSmallest()
    const started = createGeneration(time, maxKeys / GENERATIONS)
    generations.push(started)
    return started
  }

  /**
   * Merges the two smallest neighbours. With this many generations, those two hold no more than one full generation, so that an eviction
   * stays bounded. The result is a new one, because the columns of the two have gaps.
   */
  function mergeSmallest(): void {
    let at = 0
    for (let i = 1; i < generations.length - 1; i++) {
      if (sizeOfPair(i) < sizeOfPair(at)) at = i
    }
    const pair = generations.slice(at, at + 2) as [Generation, Generation]
    const merged = createGeneration(pair[0].startedAt, maxKeys / GENERATIONS)
    for (const generation of pair) {
      for (const [key, record] of generation.records) copy(key, record, generation, merged)
      note(merged, generation.lastSettledAt, generation.lastExpiry)
    }
    generations.splice(at, 2, merged)
  }

  function sizeOfPair(i: number): number {
    return (generations[i] as Generation).records.size + (generations[i + 1] as Generation).records.size
  }

  return {
    get size() {
      return size
    },

    find(key, hash, time) {
      for (let i = generations.length - 1; i >= 0; i--) {
        const generation = generations[i] as Generation
        if (!mayHold(generation.filter, hash)) continue
        const record = generation.records.get(key)
        if (record === undefined) continue
        const expiresAt = typeof record === 'number' ? generation.expiries[record] : record.expiresAt
        if ((expiresAt as number) > time) return { generation, record }
        generation.records.delete(key)
        size -= 1
      }
      return undefined
    },

    remove(key, { generation }) {
      if (generation.records.delete(key)) size -= 1
    },

    addCompleted(key, hash, token, time, retainMs) {
      const generation = current(time, retainMs)
      const { records, filter, expiries, tokenHeads, tokenTails } = generation
      records.set(key, expiries.length)
      addTo(filter, hash)
      expiries.push(time + retainMs)
      // The tail first: reading a character flattens the string, and taking the head then costs less.
      tokenTails.push(tailOf(token))
      tokenHeads.push(internHead(token))
      note(generation, time, time + retainMs)
      size += 1
    },

    addReleased(key, hash, released, time) {
      const generation = current(time, released.expiresAt - time)
      generation.records.set(key, released)
      addTo(generation.filter, hash)
      note(generation, time, released.expiresAt)
      size += 1
    },

    forget(time) {
      for (let i = generations.length - 1; i >= 0; i--) {
        const { lastExpiry, records } = generations[i] as Generation
        if (lastExpiry > time) continue
        generations.splice(i, 1)
        size -= records.size
      }
    },

    shift() {
      const oldest = generations.shift()
      size -= oldest?.records.size ?? 0
      return oldest
    },
  }
}

/** Whether the record was completed with this token. */
export function isCompletedWith({ generation, record }: Settled, token: string): boolean {
  return (
    typeof record === 'number' &&
    generation.tokenTails[record] === tailOf(token) &&
    generation.tokenHeads[record] === headOf(token)
  )
}

function createGeneration(time: number, capacity: number): Generation {
  return {
    startedAt: time,
    lastSettledAt: time,
    lastExpiry: 0,
    records: new Map(),
    filter: createFilter(capacity),
    expiries: [],
    tokenHeads: [],
    tokenTails: [],
  }
}

/** The size that limits a generation: its records, and its columns, in which a removed record leaves a gap. */
function slots({ records, expiries }: Generation): number {
  return Math.max(records.size, expiries.length)
}

function note(generation: Generation, settledAt: number, expiresAt: number): void {
  generation.lastSettledAt = settledAt
  if (expiresAt > generation.lastExpiry) generation.lastExpiry = expiresAt
}

function copy(key: string, record: Released | number, from: Generation, to: Generation): void {
  addTo(to.filter, hashOf(key))
  if (typeof record !== 'number') {
    to.records.set(key, record)
    return
  }
  to.records.set(key, to.expiries.length)
  to.expiries.push(from.expiries[record] as number)
  to.tokenHeads.push(from.tokenHeads[record] as string)
  to.tokenTails.push(from.tokenTails[record] as number)
}

/*
 * A token is stored in two parts. The receiver's tokens are a prefix and a counter, so thousands of them share one head, and the tail is
 * three characters, which fit in a number. Other tokens have a head of their own.
 */

const TAIL_LENGTH = 3

function headOf(token: string): string {
  return token.slice(0, -TAIL_LENGTH)
}

/** One-to-one for any string of up to three characters. */
function tailOf(token: string): number {
  let tail = 1
  for (let i = Math.max(0, token.length - TAIL_LENGTH); i < token.length; i++) {
    tail = tail * 0x10000 + token.charCodeAt(i)
  }
  return tail
}

/** The most heads that are kept: more than the receivers of one process have at a time. */
const MAX_INTERNED = 1_000

/** Returns the same string for equal heads, as long as few are different. */
function headInterner(): (token: string) => string {
  const interned = new Map<string, string>()
  let last = ''
  return (token) => {
    if (token.length === last.length + TAIL_LENGTH && token.startsWith(last)) return last
    const head = headOf(token)
    const known = interned.get(head)
    last = known ?? head
    if (known === undefined) {
      if (interned.size >= MAX_INTERNED) interned.clear()
      interned.set(head, head)
    }
    return last
  }
}
