import Stripe from 'stripe'
import { SECRET, type SignedOrder } from './orders.js'

type Handler = (event: object) => unknown

/** Typical hand-written code: handled ids are kept in a Map forever. Stripe's scheme is the same as ours. */
export function stripeAndMap(handler: Handler): (order: SignedOrder) => void {
  const handled = new Map<string, number>()
  return ({ body, header }) => {
    const event = Stripe.webhooks.constructEvent(body, header, SECRET)
    const id = idOf(event)
    if (handled.has(id)) throw new Error('A new order was a duplicate')
    handler(event)
    handled.set(id, Date.now())
  }
}

/** The same for an async handler. */
export function stripeAndMapAsync(handler: Handler): (order: SignedOrder) => Promise<void> {
  const handled = new Map<string, number>()
  return async ({ body, header }) => {
    const event = Stripe.webhooks.constructEvent(body, header, SECRET)
    const id = idOf(event)
    if (handled.has(id)) throw new Error('A new order was a duplicate')
    await handler(event)
    handled.set(id, Date.now())
  }
}

/** Every order is different; Stripe's own types do not include ours. */
function idOf({ data }: { data: object }): string {
  return (data as { order: { id: string } }).order.id
}
