import type { Account, Receiver, SchemaMap, WebhookOptions } from '../../src/index.js'
import { type Caller, callSafely, createReceiverFor } from '../../src/internal.js'
import { watchForRoute } from './made-in-route.js'

/**
 * Makes the receiver of an adapter, which is given to a route: it warns if it is made inside that route.
 *
 * @param caller the adapter's `tixWebhooks`, which the user calls: the stack of a `TypeError` begins there
 * @throws TypeError that names the option and the fix
 */
export function createRouteReceiver<
  Request,
  Tx,
  Schemas extends SchemaMap<keyof Schemas>,
  Found extends Account | undefined,
>(caller: Caller, options: WebhookOptions<Request, Tx, Schemas, Found>): Receiver<Request> {
  const receiver = createReceiverFor(caller, options)
  // Only the default store is lost with its receiver.
  if (options.store !== undefined || options.inbox !== undefined) return receiver
  const checkOutsideRoute = watchForRoute()
  return {
    ...receiver,
    receive(delivery) {
      callSafely(checkOutsideRoute)
      return receiver.receive(delivery)
    },
  }
}
