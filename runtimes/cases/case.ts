import type { Client } from './client.js'

/** Differences of a host that the receiver cannot change. */
export interface Traits {
  /** Work stops when the answer is sent: nothing keeps a Worker without its context alive. */
  readonly stopsWithAnswer?: boolean
  /** The platform reads the body before it calls us. */
  readonly readsFirst?: boolean
  /** Our answer is sent only when the body has ended. */
  readonly waitsForBody?: boolean
  /** Its protection against forged forms answers 403 to their content types from other sites. */
  readonly refusesForms?: boolean
}

/** One requirement, seen from outside: it knows nothing of the runtime. */
export interface Case {
  readonly name: string
  /** The trait with which the case has no meaning. */
  readonly unless?: keyof Traits
  /** @throws Error when the case fails */
  run(client: Client): Promise<void>
}
