import type { TierRecord } from '../records.js'
import type { Problem } from '../refusal.js'
import type { TierInput } from './event-requests.js'

/** The tiers of an event after an update with a new list. A tier keeps its id if its name is the same. */
export function tiersOf(
  given: readonly TierInput[],
  before: readonly TierRecord[],
  newId: () => string,
): TierRecord[] {
  return given.map(({ name, price_cents, quantity }) => {
    const same = before.find((tier) => tier.name === name)
    return { id: same?.id ?? newId(), name, priceCents: price_cents, quantity, sold: same?.sold ?? 0 }
  })
}

/** Refuses a list of tiers that removes tickets already sold. */
export function problemsOfTiers(given: readonly TierInput[], before: readonly TierRecord[]): Problem[] {
  return before.flatMap(({ name, sold }): Problem[] => {
    if (sold === 0) return []
    const index = given.findIndex((tier) => tier.name === name)
    const quantity = given[index]?.quantity
    if (quantity !== undefined && quantity >= sold) return []
    const isGone = quantity === undefined
    return [
      {
        code: 'parameter_invalid',
        message: `${isGone ? 'tickets lacks' : `tickets[${index}].quantity is ${quantity} for`} the tier ${JSON.stringify(name)}, of which ${sold} are sold: give it with a quantity of at least ${sold}.`,
        param: isGone ? 'tickets' : `tickets[${index}].quantity`,
      },
    ]
  })
}

/** How many tickets there are. */
export function capacityOf(tiers: readonly { readonly quantity: number }[]): number {
  return tiers.reduce((sum, { quantity }) => sum + quantity, 0)
}
