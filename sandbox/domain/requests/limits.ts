/** The bounds of the sandbox. The specification shows none of them but those of a list's page and of the tiers' minimum. */
export const LIMITS = {
  /** The limits of an account. One more is refused with `sandbox_full`. */
  events: 100_000,
  orders: 1_000_000,
  venues: 10_000,
  /** The sum of one event's orders: beyond it, a number of cents would no longer be exact. */
  grossCents: Number.MAX_SAFE_INTEGER,
  /** The limits of a request. */
  tiers: 100,
  tierQuantity: 10_000_000,
  priceCents: 99_999_999,
  orderQuantity: 1000,
  titleCharacters: 200,
  tierNameCharacters: 100,
  descriptionCharacters: 5_000,
  urlCharacters: 2000,
  venueTextCharacters: 200,
  venueCapacity: 10_000_000,
  pageSize: 100,
} as const

/** The items on a page of a list if `limit` is omitted. */
export const DEFAULT_PAGE_SIZE = 25

/** How long an event lasts where `ends_at` is omitted when it is created. */
export const DEFAULT_DURATION_MS = 4 * 60 * 60 * 1000
