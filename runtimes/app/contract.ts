import type { State } from './state.js'

/** The secret of every endpoint. */
export const SECRET = 'whsec_lanes'
/** During a rotation: the new one first. */
export const SECRETS = ['whsec_lanes_new', 'whsec_lanes_old'] as const
/** `maxBodyBytes` of the endpoint `main`. */
export const LIMIT_BYTES = 64 * 1024

/** The result of a run of conformance cases. */
export interface Conformance {
  readonly passed: number
  readonly failures: readonly { readonly id: string; readonly message: string }[]
}

/** The answer of `/control/log`. */
export interface Log extends State {
  /** The rows that were written through the inbox. */
  readonly rows: readonly string[]
}
