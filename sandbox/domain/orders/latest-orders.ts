import { buyerEmail, type PublicUrl, presentTicket } from '../api-objects.js'
import type { EventRecord, OrderRecord } from '../records.js'
import type { OrderResult } from '../resources.js'
import type { Ledger } from './ledger.js'

/** An order, as a list of the latest shows it. */
interface LatestOrder {
  readonly id: string
  readonly event_id: string
  /** The name of the tier. */
  readonly tier: string
  readonly quantity: number
  readonly total_cents: number
  readonly buyer_email: string
  /** Whether its event was cancelled, which refunds everyone. */
  readonly refunded: boolean
  /** The tickets; empty if they are no longer kept. */
  readonly tickets: OrderResult['tickets']
}

/** A filter of orders. */
export interface OrderFilter {
  readonly limit: number
  /** The id of an event. */
  readonly event?: string
  readonly refunded?: boolean
}

/** Some orders, the newest first. */
export interface LatestOrders {
  readonly data: readonly LatestOrder[]
  /** How many match, whatever the limit. */
  readonly matching: number
}

interface Placed {
  readonly event: EventRecord
  readonly order: OrderRecord
}

/** The newest first. The orders of an event are in the order of their numbers, so no more than the limit of each are sorted. */
export function latestOrders(
  ledger: Ledger,
  { limit, event: eventId, refunded }: OrderFilter,
  publicUrl: PublicUrl,
): LatestOrders {
  const candidates: Placed[] = []
  let matching = 0
  for (const event of ledger.events) {
    if (eventId !== undefined && event.id !== eventId) continue
    const orders =
      refunded === undefined ? event.orders : event.orders.filter((order) => order.refunded === refunded)
    matching += orders.length
    for (const order of orders.slice(-limit)) candidates.push({ event, order })
  }
  candidates.sort((a, b) => b.order.number - a.order.number)
  const data = candidates.slice(0, limit).map(({ event, order }) => {
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
  return { data, matching }
}
