import type { SchemaMap } from '../event/schema.js'
import { callSafely } from '../lib/call-safely.js'
import type { Caller } from '../lib/call-site.js'
import type { Account } from './account.js'
import { watchForRoute } from './made-in-route.js'
import type { WebhookOptions } from './options/options.js'
import { createReceiverFor, type Receiver } from './receiver.js'

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
