/** How much of the record is kept. The numbers are in proportion to the settled deliveries. */
export const LIMITS = {
  /** Deliveries that have come to their end: the latest. */
  settled: 1000,
  /** Deliveries that are on their way. */
  unsettled: 200_000,
  /** Attempts of one delivery: the latest. */
  attemptsOfOne: 100,
  /** Attempts of all deliveries: the latest. */
  attempts: 20_000,
  /** Attempts with the body of their answer: the latest. */
  bodies: 1000,
} as const
