import type { Random } from '../../lib/random.js'
import type { Ticket } from '../api-objects.js'
import type { EventRecord, OrderRecord, TierRecord } from '../records.js'
import { Refusal } from '../refusal.js'
import { LIMITS } from '../requests/limits.js'

const SCAN_TOKEN_CHARACTERS = 24

/**
 * Refuses what cannot be sold: the tier has less left, or the sum of what the event took would no longer be exact.
 *
 * @throws Refusal
 */
export function checkSale(event: EventRecord, tier: TierRecord, quantity: number): void {
  const left = tier.quantity - tier.sold
  if (quantity > left) {
    throw new Refusal({
      code: 'tier_sold_out',
      message: `The tier ${JSON.stringify(tier.name)} has ${left} left of ${tier.quantity}, and the order is for ${quantity}: ${left === 0 ? 'choose another tier' : 'order fewer'}.`,
      param: 'quantity',
    })
  }
  if (event.grossCents + quantity * tier.priceCents > LIMITS.grossCents) {
    throw new Refusal({
      code: 'sandbox_full',
      message: `The event ${event.id} would take more than ${LIMITS.grossCents} cents, which cannot be counted exactly: lower its prices.`,
    })
  }
}

/** Sells tickets of a tier, whose number was checked before. */
export function sell(
  event: EventRecord,
  tier: TierRecord,
  sale: { id: string; number: number; quantity: number },
): OrderRecord {
  const totalCents = sale.quantity * tier.priceCents
  const order: OrderRecord = { ...sale, tierId: tier.id, totalCents, refunded: false }
  tier.sold += sale.quantity
  event.sold += sale.quantity
  event.grossCents += totalCents
  event.orders.push(order)
  return order
}

/** One ticket for each that was bought. */
export function makeTickets(quantity: number, random: Random): Ticket[] {
  return Array.from({ length: quantity }, () => ({
    id: random.id('tik_'),
    scanToken: random.characters(SCAN_TOKEN_CHARACTERS),
  }))
}
