import { Heap } from 'heap-js'

/** Work that is due at a virtual time. */
export interface Timer {
  /** Milliseconds since the epoch. */
  readonly atMs: number
  /** Describes the work. A function, because most labels are never read. */
  readonly label: (() => string) | undefined
  /** Cancels it. Does nothing if it has fired. */
  cancel(): void
}

interface Entry extends Timer {
  readonly order: number
  /** Absent once it was cancelled or has fired, so that its memory can be freed. */
  work?: (() => unknown) | undefined
}

/** Cancelled timers stay in the queue until they are due, or until there are more than these and they are over half of it. */
const MAX_CANCELLED = 1000

const byTime = (a: Entry, b: Entry): number => a.atMs - b.atMs || a.order - b.order

/** Timers in the order in which they are due; those of one moment in the order of their addition. */
export class TimerQueue {
  readonly #entries = new Heap<Entry>(byTime)
  #order = 0
  #cancelled = 0

  /** @throws RangeError if `atMs` is not a finite number */
  add(atMs: number, work: () => unknown, label?: () => string): Timer {
    if (!Number.isFinite(atMs)) throw new RangeError(`A job is due at a moment of time, not at ${atMs}.`)
    const entry: Entry = { atMs, label, order: this.#order++, work, cancel: () => this.#cancel(entry) }
    this.#entries.push(entry)
    return entry
  }

  /** How many there are, of which some may have been cancelled. */
  get size(): number {
    return this.#entries.length
  }

  /** The next one; undefined if there is none. */
  next(): Timer | undefined {
    for (let next = this.#entries.peek(); next !== undefined; next = this.#entries.peek()) {
      if (next.work !== undefined) return next
      this.#entries.pop()
    }
    return undefined
  }

  /** When the next one is due; undefined if there is none. */
  nextAt(): number | undefined {
    return this.next()?.atMs
  }

  /** Removes all that are due by then. One that is cancelled before its turn is left out. */
  *take(byMs: number): Generator<() => unknown> {
    const due: Entry[] = []
    for (let next = this.nextAt(); next !== undefined && next <= byMs; next = this.nextAt()) {
      due.push(this.#entries.pop() as Entry)
    }
    for (const entry of due) {
      const { work } = entry
      entry.work = undefined
      if (work !== undefined) yield work
    }
  }

  clear(): void {
    this.#entries.clear()
  }

  #cancel(entry: Entry): void {
    if (entry.work === undefined) return
    entry.work = undefined
    this.#cancelled += 1
    if (this.#cancelled <= Math.max(MAX_CANCELLED, this.#entries.length / 2)) return
    this.#entries.init(this.#entries.toArray().filter(({ work }) => work !== undefined))
    this.#cancelled = 0
  }
}
