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
  readonly #precision: 'milliseconds' | 'seconds'
  #latestMs = Number.NEGATIVE_INFINITY

  /** @param precision of `created_at` in the bytes: in seconds, messages of one second have the same */
  constructor(clock: VirtualClock, random: Random, precision: 'milliseconds' | 'seconds' = 'milliseconds') {
    this.#precision = precision
    this.#clock = clock
    this.#random = random
  }

  /** Makes a message at least a millisecond later than the last one, so that no two have the same bytes (unless `created_at` is in seconds). */
  make({ mode, type, data, body: captured }: MessageInput): Message {
    this.#latestMs = Math.max(Math.floor(this.#clock.now()), this.#latestMs + 1)
    const createdAt = new Date(this.#latestMs).toISOString()
    const body = captured ?? JSON.stringify({ type, created_at: this.#asSent(createdAt), data })
    return { id: this.#random.id('msg_'), mode, type, createdAt, body }
  }

  #asSent(createdAt: string): string {
    return this.#precision === 'seconds' ? createdAt.replace(/\.\d+Z$/, 'Z') : createdAt
  }

  /** When the last message was created; undefined if there is none. */
  get latestMs(): number | null {
    return Number.isFinite(this.#latestMs) ? this.#latestMs : null
  }

  restore(latestMs: number | null): void {
    this.#latestMs = latestMs ?? Number.NEGATIVE_INFINITY
  }
}
