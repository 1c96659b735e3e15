import type { End } from '../running-apps.js'
import type { Sent } from './plans.js'
import { TIMEOUT_SECONDS } from './serving.js'

/** The rows of all events in the database, when nothing is running. */
export interface Facts {
  /** The keys of events that are recorded as handled. */
  readonly handled: ReadonlySet<string>
  /** How many effects each key has had. */
  readonly effects: ReadonlyMap<string, number>
  readonly kept: ReadonlyMap<string, { readonly state: string; readonly rawBody: Uint8Array }>
}

export interface Laws {
  /** Whether the effects are in the transaction of the record. */
  readonly isTransactional: boolean
  /** Whether an event may be both handled and kept, because its process died in between. */
  readonly canBeBoth: boolean
}

/** The outcomes that a receiver keeps. */
const KEPT: ReadonlySet<string> = new Set(['failed', 'retry_later', 'unprocessable'])
/** The outcomes with which a sender may stop. */
const DONE: ReadonlySet<string> = new Set(['handled', 'duplicate', 'discarded', 'parked'])

/** How long a run may go on of which the sender got no answer: to its end, or to that of its lease. */
const UNKNOWN_MS = 4_000

/** The knowledge of the sender. */
export class Ledger {
  private readonly events = new Map<string, Sent>()
  /** The keys of events that are handled or kept from now on: a receiver has said so. */
  private readonly settled = new Set<string>()
  private readonly parked = new Set<string>()
  private readonly done = new Set<string>()
  /** Of failures whose keeping was given up: it may still happen. */
  private readonly unknown = new Set<string>()
  private readonly faults = new Set<string>()
  private readonly counts = new Map<string, number>()
  /** By key: what may be running, of which nobody knows how it ends. */
  private readonly running = new Map<string, { open: number; overlapAt: number; unknownUntil: number }>()
  private readonly waiting: { readonly count: number; readonly resolve: () => void }[] = []
  private answered = 0

  /** How often each outcome was seen, of deliveries and of replays. */
  get outcomes(): ReadonlyMap<string, number> {
    return this.counts
  }

  /** The keys that are handled or kept, as far as the sender knows. */
  get settledKeys(): readonly string[] {
    return [...this.settled]
  }

  /** Whether an answer said that it is done. */
  isDone({ key }: Sent): boolean {
    return this.done.has(key) || this.parked.has(key)
  }

  send(event: Sent): void {
    this.events.set(event.key, event)
  }

  /** To be called when a delivery is sent. Returns the function to call with its end, which returns whether the sender may rely on that. */
  sent(event: Sent): (end: End) => boolean {
    const sentAt = performance.now()
    const running = this.running.get(event.key) ?? { open: 0, overlapAt: 0, unknownUntil: 0 }
    this.running.set(event.key, running)
    running.open += 1
    if (running.open > 1) running.overlapAt = sentAt
    const wasAlone = running.open === 1 && running.unknownUntil < sentAt
    return (end) => {
      const now = performance.now()
      const isAlone = wasAlone && running.overlapAt < sentAt
      running.open -= 1
      const isLate = now - sentAt >= TIMEOUT_SECONDS * 1000 - 50
      if (end === 'cut off' || isLate) running.unknownUntil = now + UNKNOWN_MS
      // An answer at the deadline comes before the run has ended; and while another delivery of the event runs, its end is awaited after the
      // answer.
      return this.deliveryEnded(event, end, isAlone && !isLate)
    }
  }

  private deliveryEnded({ key, plan }: Sent, end: End, isLast: boolean): boolean {
    const outcome = typeof end === 'string' ? end : end.outcome
    this.count(outcome)
    if (typeof end === 'string') return false
    const isDone = end.status < 300
    if (isDone !== DONE.has(outcome)) this.report(`${key} (${plan}) was answered ${end.status} ${outcome}`)
    if (isDone) this.ended(key, outcome)
    const isKept = KEPT.has(outcome) && end.notKept === undefined && isLast
    if (isKept) this.settled.add(key)
    if (end.notKept) this.unknown.add(key)
    return isDone || isKept
  }

  replayEnded(key: string, outcome: string): void {
    this.count(`replay ${outcome}`)
    if (DONE.has(outcome) && outcome !== 'parked') this.ended(key, outcome)
  }

  private ended(key: string, outcome: string): void {
    this.settled.add(key)
    if (outcome === 'parked') this.parked.add(key)
    else this.done.add(key)
  }

  private count(outcome: string): void {
    this.counts.set(outcome, (this.counts.get(outcome) ?? 0) + 1)
    this.answered += 1
    for (const { count, resolve } of this.waiting) if (count <= this.answered) resolve()
  }

  /** Waits for so many ends of deliveries and replays. */
  more(ends: number): Promise<void> {
    const count = this.answered + ends
    return new Promise((resolve) => this.waiting.push({ count, resolve }))
  }

  /** Reports a fault that was seen while things were running. */
  report(fault: string): void {
    this.faults.add(fault)
  }

  /** Judges by the database alone, when nothing is running; with what was reported since the last judgement. */
  judge({ handled, effects, kept }: Facts, { isTransactional, canBeBoth }: Laws): string[] {
    const found = [...this.faults]
    this.faults.clear()
    for (const { key, plan, isOrder, body } of this.events.values()) {
      const about = `${key} (${plan})`
      const failure = kept.get(key)
      const isHandled = handled.has(key)
      if (!isHandled && failure === undefined) found.push(`lost: ${about}`)
      const isExcused = canBeBoth || (!isTransactional && this.unknown.has(key))
      if (isHandled && failure !== undefined && !isExcused) found.push(`stuck: ${about} is handled and kept`)
      if (isHandled && !isOrder) found.push(`${about} was handled`)
      if (this.done.has(key) && !isHandled) found.push(`${about} is not handled, and its sender was told so`)
      if (this.parked.has(key) && !isHandled && failure?.state !== 'parked')
        found.push(`${about} is not parked, and its sender was told so`)
      if (failure !== undefined && !Buffer.from(failure.rawBody).equals(body))
        found.push(`${about} is kept with other bytes than were sent`)
      const count = effects.get(key) ?? 0
      const expected = isHandled && plan !== 'is discarded' ? 1 : 0
      const isRight = isTransactional ? count === expected : count >= expected
      if (!isRight) found.push(`doubled: ${about} had ${count} effects, not ${expected}`)
    }
    for (const key of [...kept.keys(), ...handled]) {
      if (!this.events.has(key)) found.push(`${key} was never sent`)
    }
    return found
  }

  /** Judges what is left after the fix, when all was replayed: the events that no fix helps. */
  judgeFixed({ kept }: Facts, replayed: ReadonlyMap<string, string>): string[] {
    const found: string[] = []
    for (const { key, plan, isOrder } of this.events.values()) {
      if (isOrder === kept.has(key))
        found.push(`stuck: ${key} (${plan}) is ${isOrder ? 'still' : 'not'} kept after the fix`)
      if (kept.has(key) && replayed.get(key) !== 'unprocessable')
        found.push(`stuck: the replay of ${key} (${plan}) ended as ${replayed.get(key)}`)
    }
    return found
  }
}
