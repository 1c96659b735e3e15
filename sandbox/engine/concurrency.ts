import { type Limiter, limiter } from './limiter.js'

const PER_ENDPOINT = 4
const IN_ALL = 32

/** Limits how many attempts run at once: for each endpoint, and in all. */
export class Concurrency {
  readonly #perEndpoint: number
  readonly #all = limiter(IN_ALL)
  readonly #limits = new Map<string, Limiter>()

  /** @param serial one at a time for each endpoint, in order */
  constructor(serial: boolean) {
    this.#perEndpoint = serial ? 1 : PER_ENDPOINT
  }

  /** Runs the work when there is room for it. */
  run<Result>(endpointId: string, work: () => Promise<Result>): Promise<Result> {
    let limit = this.#limits.get(endpointId)
    if (limit === undefined) {
      limit = limiter(this.#perEndpoint)
      this.#limits.set(endpointId, limit)
    }
    return limit(() => this.#all(work))
  }

  /** Attempts that are running go on. */
  forget(endpointId: string): void {
    this.#limits.delete(endpointId)
  }

  forgetAll(): void {
    this.#limits.clear()
  }
}
