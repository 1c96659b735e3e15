import { buyerEmail, type PublicUrl, presentTicket } from '../present.js'
import type { EventRecord, OrderRecord } from '../records.js'
import type { OrderResult } from '../resources.js'
import type { Ledger } from './ledger.js'

/** An order, as a list of the latest shows it. */
export interface LatestOrder {
  readonly id: string
  readonly event_id: string
  /** The name of the tier. */
  readonly tier: string
  readonly quantity: number
  readonly total_cents: number
  readonly buyer_email: string
  /** Whether its event was cancelled, which refunds everyone. */
  readonly refunded: boolean
  /** Empty where they are no longer kept. */
  readonly tickets: OrderResult['tickets']
}

interface Placed {
  readonly event: EventRecord
  readonly order: OrderRecord
}

/** The newest first. The orders of an event are in the order of their numbers, so that of each no more than the limit are looked at. */
export function latestOrders(ledger: Ledger, limit: number, publicUrl: PublicUrl): readonly LatestOrder[] {
  const candidates: Placed[] = []
  for (const event of ledger.events) {
    for (const order of event.orders.slice(-limit)) candidates.push({ event, order })
  }
  candidates.sort((a, b) => b.order.number - a.order.number)
  return candidates.slice(0, limit).map(({ event, order }) => {
    const tier = event.tiers.find(({ id }) => id === order.tierId)?.name ?? ''
    const tickets = ledger.tickets.get(order.id) ?? []
    return {
      id: order.id,
      event_id: event.id,
      tier,
      quantity: order.quantity,
      total_cents: order.totalCents,
      buyer_email: buyerEmail(order.number),
      refunded: order.refunded,
      tickets: tickets.map((ticket) => presentTicket(ticket, tier, publicUrl)),
    }
  })
}
