import { bodyCounter } from './body-counter.js'
import type { Client } from './client.js'
import type { DeliveriesView } from './control-api.js'

/** A delivery as a listener knows it by its body. */
export interface KnownDelivery {
  /** Its id in the sandbox; undefined without one, and for a body that was changed on its way. */
  readonly id: string | undefined
  /** How often these bytes came, this time included. */
  readonly attempt: number
}

/** How many of the latest deliveries are looked at for one that has just come. */
const LATEST = 50

/**
 * Counts how often each body came, and finds its delivery in the sandbox: nothing on the wire names it.
 *
 * @returns what is to be called once for each request
 */
export function deliveryCounter(
  find: (body: Uint8Array) => Promise<string | undefined>,
): (body: Uint8Array) => Promise<KnownDelivery> {
  const count = bodyCounter(find)
  return async (body) => {
    const { found, attempt } = count(body)
    return { id: await found, attempt }
  }
}

/** Finds the delivery of a body among the latest ones to an endpoint. What goes wrong there is no reason not to listen. */
export function finderIn(
  client: Client,
  endpoint: string,
): (body: Uint8Array) => Promise<string | undefined> {
  return async (body) => {
    const text = new TextDecoder().decode(body)
    try {
      const query = new URLSearchParams({ endpoint, limit: String(LATEST) })
      const { data } = await client.call<DeliveriesView>('GET', `/deliveries?${query}`)
      return data.find((delivery) => delivery.body === text)?.id
    } catch {
      return undefined
    }
  }
}
