import { giveRequest, type HandlerContext } from '../event/handlers.js'
import type { Grant } from '../ledger/guard.js'
import type { AuthenticDelivery } from './delivery.js'
import type { DeliveryState } from './state.js'

/** The delivery of a context: under a symbol, and no private field, because a proxy of the context has none. */
const STATE = Symbol('state')

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
  declare private readonly [STATE]: { readonly signal: AbortSignal }

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
    this[STATE] = state
  }

  get signal(): AbortSignal {
    return this[STATE].signal
  }
}

export function contextOf<Request>(
  state: DeliveryState<Request>,
  grant: Grant,
  delivery: AuthenticDelivery,
): HandlerContext<Request> {
  return new DeliveryContext(state, grant, delivery)
}
