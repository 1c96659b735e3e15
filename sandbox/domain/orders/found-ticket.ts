import { type PublicUrl, presentEvent, presentTicket, type Ticket } from '../api-objects.js'
import type { Lifecycle } from '../events/lifecycle.js'
import type { EventObject } from '../resources.js'
import type { Ledger } from './ledger.js'

/** A ticket, with what its wallet pass shows. */
export interface FoundTicket {
  readonly id: string
  readonly tier: string
  readonly scan_token: string
  readonly refunded: boolean
  readonly event: EventObject
}

interface SearchParts {
  readonly ledger: Ledger
  readonly publicUrl: PublicUrl
  readonly lifecycle: Lifecycle
}

/** A ticket of one of the latest orders. */
export function findTicket(id: string, parts: SearchParts): FoundTicket | undefined {
  for (const [orderId, tickets] of parts.ledger.tickets) {
    const ticket = tickets.find((one) => one.id === id)
    if (ticket !== undefined) return foundTicket(orderId, ticket, parts)
  }
  return undefined
}

function foundTicket(
  orderId: string,
  ticket: Ticket,
  { ledger, publicUrl, lifecycle }: SearchParts,
): FoundTicket | undefined {
  for (const event of ledger.events) {
    const order = event.orders.find((one) => one.id === orderId)
    if (order === undefined) continue
    lifecycle.settle(event)
    const tier = event.tiers.find((one) => one.id === order.tierId)?.name ?? ''
    return {
      ...presentTicket(ticket, tier, publicUrl),
      refunded: order.refunded,
      event: presentEvent(event, publicUrl),
    }
  }
  return undefined
}
