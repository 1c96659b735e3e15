import type { SignedBody } from '../deliveries/signed-delivery.js'
import type { AnyAnswer } from '../retries/retries.js'
import type { TestClock } from '../retries/test-clock.js'
import type { Fault } from './faults.js'
import type { Story } from './story.js'

/** A delivery that can be signed again. */
export type AnyDelivery = SignedBody<string | Uint8Array>

/** A process that is not a fetch handler. */
export interface StartedProcess<Delivery extends AnyDelivery = AnyDelivery> {
  /** Sends one attempt to it, and returns its answer. */
  send(delivery: Delivery): AnyAnswer | Promise<AnyAnswer>
  /** Closes its server and its connections, as the system does for a process that ends. A rejection is ignored. */
  close?(): unknown
}

/** A handler from Request to Response. */
export type FetchHandler = (request: Request) => Response | Promise<Response>

/** The context of a process, besides the world. */
export interface ProcessContext {
  /** The virtual time. */
  readonly clock: TestClock
  /** The time of `clock`, for the receiver's option `now`. */
  readonly now: () => number
}

/** The parts of a run. */
export interface RunParts<World extends object, Delivery extends AnyDelivery> {
  prepare(context: { readonly clock: TestClock }): World | Promise<World>
  start(
    world: World,
    context: ProcessContext,
  ): FetchHandler | StartedProcess<Delivery> | Promise<FetchHandler | StartedProcess<Delivery>>
  delivery:
    | Delivery
    | readonly Delivery[]
    | ((world: World) => Delivery | readonly Delivery[] | Promise<Delivery | readonly Delivery[]>)
}

/** The state that all parts of one run share. */
export interface RunContext {
  readonly clock: TestClock
  readonly story: Story
  /** For the first process; the first run has none. */
  readonly fault?: Fault | undefined
}
