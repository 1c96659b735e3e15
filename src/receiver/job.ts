import type { AnyEvent } from '../event/events.js'
import type { Deadline } from '../lib/deadline.js'
import type { SignatureScheme } from '../signature/scheme.js'
import { signedAt } from '../signature/signature.js'
import type { Delivery, Facts } from './delivery.js'
import type { AnyHandler, HandlerContext } from './handlers.js'
import type { Report } from './report.js'
import type { LazyAbort } from './run.js'

/** An authentic delivery that a handler wants. */
export interface Job<Request> {
  readonly delivery: Delivery<Request>
  readonly facts: Facts
  readonly report: Report<Request>
  readonly deadline: Deadline
  readonly rawBody: Uint8Array
  /** When the service signed, as the header has it. */
  readonly t: string
  readonly secretIndex: number
  readonly key: string | null
  readonly event: AnyEvent
  readonly handler: AnyHandler<Request>
  readonly abort: LazyAbort
}

/** What the handler of a job is told of its protection. */
export type Protection = Pick<HandlerContext<unknown, unknown>, 'deduplicated' | 'attempt' | 'tx'>

export const UNPROTECTED: Protection = { deduplicated: false, tx: undefined }

/** Where a context keeps what its `signal` is made of. */
const ABORT = Symbol('abort')

/**
 * Makes the signal when it is first read. A property of the context itself, so that a copy (`{ ...ctx }`) has it; and one
 * getter for all contexts, because for a getter of its own V8 keeps a shape, and all that the getter can see, in old space.
 */
const SIGNAL: PropertyDescriptor & ThisType<{ [ABORT]: LazyAbort }> & { __proto__: null } = {
  // Descriptors inherit nothing: a library that puts a `get` on Object.prototype would make any other one invalid.
  __proto__: null,
  enumerable: true,
  configurable: true,
  get() {
    return this[ABORT].signal
  },
}

/** One for all contexts too: an object without a prototype takes its time to make. */
const HIDDEN: PropertyDescriptor & { __proto__: null } = { __proto__: null, value: undefined }

/** What the handler of a job is told. */
export function contextOf<Request>(
  { delivery, key, t, secretIndex, rawBody, abort }: Job<Request>,
  { deduplicated, attempt, tx }: Protection,
  scheme: SignatureScheme,
): HandlerContext<Request, unknown> {
  const told: Omit<HandlerContext<Request, unknown>, 'attempt' | 'signal'> & { attempt?: number } = {
    request: delivery.request,
    key,
    deduplicated,
    signedAt: signedAt(t, scheme),
    secretIndex,
    rawBody,
    tx,
  }
  if (attempt !== undefined) told.attempt = attempt
  HIDDEN.value = abort
  Object.defineProperty(told, ABORT, HIDDEN)
  HIDDEN.value = undefined
  return Object.defineProperty(told, 'signal', SIGNAL) as HandlerContext<Request, unknown>
}
