import type { Random } from '../../lib/random.js'
import type { VirtualClock } from '../../time/clock.js'
import type { Message } from './records.js'

/** The content of a message. */
export interface MessageInput {
  readonly mode: string
  readonly type: string
  readonly data: unknown
  /** The bytes that are sent, of an envelope that was captured. Default: made of the rest. */
  readonly body?: string
}

/** Makes messages, whose bytes never change again. */
export class Messages {
  readonly #clock: VirtualClock
  readonly #random: Random
  #latestMs = Number.NEGATIVE_INFINITY

  constructor(clock: VirtualClock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** Each is created later than the one before, if by a millisecond only: no two have the same bytes. */
  make({ mode, type, data, body: captured }: MessageInput): Message {
    this.#latestMs = Math.max(Math.floor(this.#clock.now()), this.#latestMs + 1)
    const createdAt = new Date(this.#latestMs).toISOString()
    const body = captured ?? JSON.stringify({ type, created_at: createdAt, data })
    return { id: this.#random.id('msg_'), mode, type, createdAt, body }
  }

  /** When the latest was created; none if there is none. */
  get latestMs(): number | null {
    return Number.isFinite(this.#latestMs) ? this.#latestMs : null
  }

  restore(latestMs: number | null): void {
    this.#latestMs = latestMs ?? Number.NEGATIVE_INFINITY
  }
}
