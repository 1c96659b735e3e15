import type { Random } from '../lib/random.js'

type States = Readonly<Record<'endpoints' | 'ids' | 'attempts', readonly number[]>>

/**
 * Where the engine's ids and its jitter come from. They are apart from each other and from those of the rest of the sandbox: when an
 * endpoint answers changes nothing but the ids of the attempts.
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

  /** As they began. Those of endpoints that are kept must not be given again. */
  restart({ keepEndpoints }: { keepEndpoints: boolean }): void {
    this.restore({ ...this.#start, ...(keepEndpoints && { endpoints: this.endpoints.state }) })
  }
}
