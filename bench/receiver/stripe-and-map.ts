import Stripe from 'stripe'
import { SECRET, type SignedOrder } from './orders.js'

type Handler = (event: object) => unknown

/** What people write: the ids that were handled are kept in a Map, for good. Stripe's scheme is ours. */
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

/** The same for a handler that is waited for. */
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

/** Each order is another one; Stripe's own types know nothing of ours. */
function idOf({ data }: { data: object }): string {
  return (data as { order: { id: string } }).order.id
}
