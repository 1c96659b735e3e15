import type { Execution } from '../idempotency/guard.js'
import type { SignatureScheme } from '../signature/scheme.js'
import { signedAt } from '../signature/signature.js'
import type { HandlerContext } from './handlers.js'
import type { DeliveryState } from './state.js'

/** The symbol under which a context keeps the delivery that makes its `signal`. */
const STATE = Symbol('state')

/**
 * Makes the signal on first read. It is a property of the context itself, so that a copy (`{ ...ctx }`) has it; and one getter for all
 * contexts, because with a getter each, V8 keeps a shape, and everything that the getter can reach, in old space.
 */
const SIGNAL: PropertyDescriptor &
  ThisType<{ [STATE]: Pick<DeliveryState, 'signal'> }> & { __proto__: null } = {
  // A null prototype: a library that sets `get` on Object.prototype would make a plain descriptor invalid.
  __proto__: null,
  enumerable: true,
  configurable: true,
  get() {
    return this[STATE].signal
  },
}

/** Shared by all contexts too: an object without a prototype is slow to make. */
const stateDescriptor: PropertyDescriptor & { __proto__: null } = { __proto__: null, value: undefined }

/** An authentic delivery, for its handler. */
export interface VerifiedDelivery {
  readonly t: string
  readonly secretIndex: number
  readonly rawBody: Uint8Array
  readonly key: string | null
}

export function contextOf<Request>(
  state: DeliveryState<Request>,
  { deduplicated, attempt, tx }: Execution,
  { t, secretIndex, rawBody, key }: VerifiedDelivery,
  scheme: SignatureScheme,
): HandlerContext<Request, unknown> {
  const context: Omit<HandlerContext<Request, unknown>, 'attempt' | 'signal'> & { attempt?: number } = {
    request: state.delivery.request,
    platform: state.delivery.platform,
    key,
    deduplicated,
    signedAt: signedAt(t, scheme),
    secretIndex,
    rawBody,
    tx,
  }
  if (attempt !== undefined) context.attempt = attempt
  stateDescriptor.value = state
  Object.defineProperty(context, STATE, stateDescriptor)
  stateDescriptor.value = undefined
  return Object.defineProperty(context, 'signal', SIGNAL) as HandlerContext<Request, unknown>
}
