/** How much history is kept. */
export const LIMITS = {
  /** The latest settled deliveries. */
  settled: 1000,
  /** Deliveries that still have attempts to come. */
  unsettled: 200_000,
  /** The latest attempts of one delivery. */
  attemptsOfOne: 100,
  /** The latest attempts of all deliveries. */
  attempts: 20_000,
  /** The latest attempts whose answer's body is kept. */
  bodies: 1000,
} as const
