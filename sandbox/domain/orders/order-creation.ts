import type { Random } from '../../lib/random.js'
import { type PublicUrl, presentOrder } from '../api-objects.js'
import type { Lifecycle } from '../events/lifecycle.js'
import { nextStatus } from '../events/states.js'
import { Refusal } from '../refusal.js'
import { missingResource } from '../requests/missing.js'
import type { OrderResult } from '../resources.js'
import type { Ledger } from './ledger.js'
import type { CreateOrder } from './order-requests.js'
import { checkSale, makeTickets, sell } from './sales.js'

interface OrderParts {
  readonly ledger: Ledger
  readonly lifecycle: Lifecycle
  readonly random: Random
  readonly publicUrl: PublicUrl
}

/**
 * Sells the tickets of an order.
 *
 * @throws Refusal if there is no such event or tier, or it cannot sell that many; then nothing has changed
 */
export function makeOrder(
  { event_id, ticket_tier_id, quantity }: CreateOrder,
  { ledger, lifecycle, random, publicUrl }: OrderParts,
): OrderResult {
  const event = ledger.events.get(event_id)
  if (event === undefined) throw new Refusal(missingResource('event', event_id, 'event_id'))
  lifecycle.settle(event)
  const tier = event.tiers.find(({ id }) => id === ticket_tier_id)
  if (tier === undefined) throw new Refusal(missingResource('ticket tier', ticket_tier_id, 'ticket_tier_id'))
  nextStatus(event, 'order')
  checkSale(event, tier, quantity)
  ledger.makeRoom('orders')

  const number = ledger.orders + 1
  ledger.orders = number
  const order = sell(event, tier, { id: random.id('ord_'), number, quantity })
  const tickets = makeTickets(quantity, random)
  ledger.keepTickets(order.id, tickets)
  lifecycle.sold(event)
  return presentOrder(event, tier, order, tickets, publicUrl)
}
