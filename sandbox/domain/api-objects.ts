import type { EventRecord, OrderRecord, TierRecord } from './records.js'
import type { CreatedEvent, EventObject, OrderResult, TicketTier, WebhookData } from './resources.js'

/** The base URL of the public pages. */
export type PublicUrl = () => string

/** An event as the interface shows it, with no other fields. */
export function presentEvent(event: EventRecord, publicUrl: PublicUrl): EventObject {
  return {
    id: event.id,
    title: event.title,
    slug: event.slug,
    url: `${publicUrl()}/e/${event.slug}`,
    status: event.status,
    venue_id: event.venueId,
    doors_at: event.doorsAt.text,
    ends_at: event.endsAt.text,
    description_md: event.descriptionMd,
    image_url: event.imageUrl,
    capacity: event.capacity,
    sold: event.sold,
    gross_cents: event.grossCents,
    refund_policy: event.refundPolicy,
    transferable: event.transferable,
    created_at: event.createdAt,
    updated_at: event.updatedAt,
  }
}

/** The event with its ticket tiers, as create shows it. */
export function presentWithTickets(event: EventRecord, publicUrl: PublicUrl): CreatedEvent {
  return { ...presentEvent(event, publicUrl), tickets: event.tiers.map(presentTier) }
}

/** One ticket, while it is made. */
export interface Ticket {
  readonly id: string
  readonly scanToken: string
}

/** An order with its tickets, as the interface shows it. */
export function presentOrder(
  event: EventRecord,
  tier: TierRecord,
  order: OrderRecord,
  tickets: readonly Ticket[],
  publicUrl: PublicUrl,
): OrderResult {
  return {
    order: {
      id: order.id,
      event_id: event.id,
      total_cents: order.totalCents,
      buyer_email: buyerEmail(order.number),
    },
    tickets: tickets.map((ticket) => presentTicket(ticket, tier.name, publicUrl)),
  }
}

/** One ticket of an order. */
export function presentTicket(
  { id, scanToken }: Ticket,
  tier: string,
  publicUrl: PublicUrl,
): OrderResult['tickets'][number] {
  return { id, tier, scan_token: scanToken, wallet_pass_url: `${publicUrl()}/wallet/${id}` }
}

/** `data` of `order.created`, without scan tokens. */
export function orderCreatedData({ order, tickets }: OrderResult): WebhookData['order.created'] {
  const { id, total_cents, buyer_email } = order
  return {
    order: { id, total_cents, buyer_email },
    tickets: tickets.map((ticket) => ({ id: ticket.id, tier: ticket.tier })),
  }
}

function presentTier({ id, name, priceCents, quantity }: TierRecord): TicketTier {
  return { id, name, price_cents: priceCents, quantity }
}

/** The email address of the buyer of the order with this number. */
export function buyerEmail(number: number): string {
  return `buyer${number}@example.com`
}
