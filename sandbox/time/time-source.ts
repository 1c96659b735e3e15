/** Virtual time without timers: it runs with the real time, or stands still. */
export class TimeSource {
  #offsetMs = 0
  #stoppedAtMs: number | undefined
  #latestMs = Number.NEGATIVE_INFINITY

  /** Milliseconds since the epoch, never less than before. Bound, so that it can be passed as a callback. */
  readonly now = (): number => {
    this.#latestMs = Math.max(this.#latestMs, this.#stoppedAtMs ?? Date.now() + this.#offsetMs)
    return this.#latestMs
  }

  /** Stands still, at this time or where it stands already. */
  stop(): void {
    this.#stoppedAtMs ??= this.now()
  }

  stopAt(ms: number): void {
    this.#stoppedAtMs = ms
  }

  /** Runs with the real time, from where it stood. */
  run(): void {
    if (this.#stoppedAtMs === undefined) return
    this.#offsetMs = this.#stoppedAtMs - Date.now()
    this.#stoppedAtMs = undefined
  }

  /** Begins again at any time, also an earlier one. Default: now. */
  restart(startMs: number | undefined, isStopped: boolean): void {
    this.#latestMs = Number.NEGATIVE_INFINITY
    this.#offsetMs = startMs === undefined ? 0 : startMs - Date.now()
    this.#stoppedAtMs = isStopped ? (startMs ?? Date.now()) : undefined
  }
}
