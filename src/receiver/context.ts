import type { Grant } from '../idempotency/guard.js'
import type { AbortSource } from '../lib/abort-source.js'
import type { HandlerContext } from './handlers.js'
import type { DeliveryState } from './state.js'

/** An authentic delivery, or the replay of one. */
export interface AuthenticDelivery {
  readonly rawBody: Uint8Array
  readonly signedAt: Date
  readonly secretIndex: number
  /** As the user's function returned it. */
  readonly account: unknown
}

/** The source of a context's signal: under a symbol, and no private field, because a proxy of the context has none. */
const ABORTING = Symbol('aborting')

/** The context of a handler. Its signal is made on first read, by a getter that is not its own: a copy (`{ ...ctx }`) has none. */
class DeliveryContext<Request> implements HandlerContext<Request> {
  declare request: Request
  declare readonly account: unknown
  declare readonly platform: unknown
  declare readonly key: string | null
  declare readonly attempt?: number
  declare readonly deduplicated: boolean
  declare readonly replayed: boolean
  declare readonly signedAt: Date
  declare readonly secretIndex: number
  declare readonly rawBody: Uint8Array
  declare readonly tx: unknown
  declare private readonly [ABORTING]: AbortSource

  constructor(
    state: DeliveryState<Request>,
    { deduplicated, attempt, tx }: Grant,
    { signedAt, secretIndex, rawBody, account }: AuthenticDelivery,
  ) {
    giveRequest(this, state)
    this.account = account
    this.platform = state.delivery.platform
    this.key = state.key ?? null
    if (attempt !== undefined) this.attempt = attempt
    this.deduplicated = deduplicated
    this.replayed = state.replayed
    this.signedAt = signedAt
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
  delivery: AuthenticDelivery,
): HandlerContext<Request> {
  return new DeliveryContext(state, grant, delivery)
}

/** Sets the request of a context. A replay may have none: then it is a getter, so that only reading it throws. */
export function giveRequest(
  context: object & { request?: unknown },
  state: { readonly hasRequest: boolean; readonly request: unknown },
): void {
  if (state.hasRequest) context.request = state.request
  else {
    const descriptor = { __proto__: null, get: () => state.request, configurable: true }
    Object.defineProperty(context, 'request', descriptor as PropertyDescriptor)
  }
}
