import type { Grant } from '../idempotency/guard.js'
import type { AbortSource } from '../lib/abort-source.js'
import type { SignatureScheme } from '../signature/scheme.js'
import { signedAt } from '../signature/signature.js'
import type { HandlerContext } from './handlers.js'
import type { DeliveryState } from './state.js'

/** An authentic delivery, for its handler. */
export interface VerifiedDelivery {
  readonly t: string
  readonly secretIndex: number
  readonly rawBody: Uint8Array
  readonly key: string | null
  readonly account: unknown
}

/** The source of a context's signal: under a symbol, and no private field, because a proxy of the context has none. */
const ABORTING = Symbol('aborting')

/** The context of a handler. Its signal is made on first read, by a getter that is not its own: a copy (`{ ...ctx }`) has none. */
class DeliveryContext<Request> implements HandlerContext<Request> {
  declare readonly request: Request
  declare readonly account: unknown
  declare readonly platform: unknown
  declare readonly key: string | null
  declare readonly attempt?: number
  declare readonly deduplicated: boolean
  declare readonly signedAt: Date
  declare readonly secretIndex: number
  declare readonly rawBody: Uint8Array
  declare readonly tx: unknown
  declare private readonly [ABORTING]: AbortSource

  constructor(
    state: DeliveryState<Request>,
    { deduplicated, attempt, tx }: Grant,
    { t, secretIndex, rawBody, key, account }: VerifiedDelivery,
    scheme: SignatureScheme,
  ) {
    this.request = state.request
    this.account = account
    this.platform = state.delivery.platform
    this.key = key
    if (attempt !== undefined) this.attempt = attempt
    this.deduplicated = deduplicated
    this.signedAt = signedAt(t, scheme)
    this.secretIndex = secretIndex
    this.rawBody = rawBody
    this.tx = tx
    this[ABORTING] = state.aborting
  }

  get signal(): AbortSignal {
    return this[ABORTING].signal
  }
}

export function contextOf<Request>(
  state: DeliveryState<Request>,
  grant: Grant,
  delivery: VerifiedDelivery,
  scheme: SignatureScheme,
): HandlerContext<Request> {
  return new DeliveryContext(state, grant, delivery, scheme)
}
