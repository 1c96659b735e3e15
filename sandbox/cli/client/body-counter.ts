import { createHash } from 'node:crypto'

/** A body that has come, and what was found for it. */
export interface CountedBody<Found> {
  readonly found: Found
  /** How often these bytes came, this time included. */
  readonly attempt: number
}

/** Bodies that are remembered; the oldest is forgotten beyond them. */
const MAX_KNOWN = 10_000

/**
 * Counts how often each body came.
 *
 * @param find called with each body that is not remembered
 * @returns a function to call once for each request
 */
export function bodyCounter<Found>(
  find: (body: Uint8Array) => Found,
): (body: Uint8Array) => CountedBody<Found> {
  const known = new Map<string, CountedBody<Found>>()
  return (body) => {
    const key = createHash('sha256').update(body).digest('base64')
    const { found, attempt } = known.get(key) ?? { found: find(body), attempt: 0 }
    const counted = { found, attempt: attempt + 1 }
    known.delete(key)
    known.set(key, counted)
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value ?? key)
    return counted
  }
}
