const ignore = (): void => {}

/** The work that has begun and has not ended. */
export class PendingWork {
  readonly #works = new Set<Promise<void>>()
  readonly #onError: (error: unknown) => void

  /** @param onError called with what the work threw. Its own errors are ignored */
  constructor(onError: (error: unknown) => void = ignore) {
    this.#onError = onError
  }

  get isEmpty(): boolean {
    return this.#works.size === 0
  }

  /** Starts work. */
  begin(work: () => unknown): void {
    this.#add((async () => work())().catch(this.#onError))
  }

  /** Starts work, and returns its result. */
  during<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = (async () => work())()
    this.#add(result)
    return result
  }

  /** Resolves when all that has begun by now has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#works)
  }

  #add(work: Promise<unknown>): void {
    const done: Promise<void> = work.then(ignore, ignore).then(() => void this.#works.delete(done))
    this.#works.add(done)
  }
}
