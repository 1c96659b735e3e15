import type { Random } from '../lib/random.js'

type States = Readonly<Record<'endpoints' | 'ids' | 'attempts', readonly number[]>>

/**
 * The generators of the engine's ids and jitter, separate from each other and from those of the rest of the sandbox, so that the time of
 * an endpoint's answer changes only the ids of the attempts.
 */
export class Generators {
  readonly endpoints: Random
  readonly ids: Random
  readonly attempts: Random
  readonly #start: States

  constructor(random: Random) {
    this.endpoints = random.fork()
    this.ids = random.fork()
    this.attempts = random.fork()
    this.#start = this.state
  }

  get state(): States {
    return { endpoints: this.endpoints.state, ids: this.ids.state, attempts: this.attempts.state }
  }

  /** @throws TypeError if these are no states */
  restore({ endpoints, ids, attempts }: States): void {
    this.endpoints.restore(endpoints)
    this.ids.restore(ids)
    this.attempts.restore(attempts)
  }

  /** Returns to the initial states. If the endpoints are kept, so is their generator: it must not repeat their ids. */
  restart({ keepEndpoints }: { keepEndpoints: boolean }): void {
    this.restore({ ...this.#start, ...(keepEndpoints && { endpoints: this.endpoints.state }) })
  }
}
