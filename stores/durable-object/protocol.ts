import type { ClaimRequest } from '../../src/index.js'

/** A call of the store, as it is sent to an object. */
export interface ObjectCall extends Omit<ClaimRequest, 'leaseMs' | 'retainMs'> {
  readonly method: 'claim' | 'renew' | 'complete' | 'release' | 'isHandled' | 'check'
  /** Whole milliseconds; 0 where the method takes none. */
  readonly leaseMs: number
  readonly retainMs: number
}
