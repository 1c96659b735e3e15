import pLimit, { type LimitFunction } from 'p-limit'

const PER_ENDPOINT = 4
const IN_ALL = 32

/** How many attempts are under way at once: for each endpoint, and in all. */
export class Lanes {
  readonly #perEndpoint: number
  readonly #all = pLimit(IN_ALL)
  readonly #lanes = new Map<string, LimitFunction>()

  /** @param serial one at a time for each endpoint, in the order in which they come */
  constructor(serial: boolean) {
    this.#perEndpoint = serial ? 1 : PER_ENDPOINT
  }

  /** Does the work when it is its turn. */
  run<Result>(endpointId: string, work: () => Promise<Result>): Promise<Result> {
    let lane = this.#lanes.get(endpointId)
    if (lane === undefined) {
      lane = pLimit(this.#perEndpoint)
      this.#lanes.set(endpointId, lane)
    }
    return lane(() => this.#all(work))
  }

  /** What is under way there goes on. */
  forget(endpointId: string): void {
    this.#lanes.delete(endpointId)
  }

  forgetAll(): void {
    this.#lanes.clear()
  }
}
