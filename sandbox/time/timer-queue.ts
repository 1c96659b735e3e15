import TinyQueue from 'tinyqueue'

/** Something that is due at a moment of virtual time. */
export interface Timer {
  /** Milliseconds since the epoch. */
  readonly atMs: number
  /** What happens then, in words; a function, because few are ever asked. */
  readonly label: (() => string) | undefined
  /** It will not run. Nothing happens where it has. */
  cancel(): void
}

interface Entry extends Timer {
  readonly order: number
  /** Absent where it was cancelled, or has begun: what it holds on to can go. */
  work?: (() => unknown) | undefined
}

/** What was cancelled is left in the queue until its time comes, or so many were, and more than half of what is there. */
const MAX_CANCELLED = 1000

const byTime = (a: Entry, b: Entry): number => a.atMs - b.atMs || a.order - b.order

/** Jobs in the order in which they are due; those of one moment in the order in which they came. */
export class TimerQueue {
  #entries = new TinyQueue<Entry>([], byTime)
  #order = 0
  #cancelled = 0

  /** @throws RangeError when the moment is none */
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

  /** Takes out all that are due by then. One that is cancelled before its turn comes is left out. */
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
    this.#entries = new TinyQueue<Entry>([], byTime)
  }

  #cancel(entry: Entry): void {
    if (entry.work === undefined) return
    entry.work = undefined
    this.#cancelled += 1
    if (this.#cancelled <= Math.max(MAX_CANCELLED, this.#entries.length / 2)) return
    const left = this.#entries.data.filter(({ work }) => work !== undefined)
    this.#entries = new TinyQueue(left, byTime)
    this.#cancelled = 0
  }
}
