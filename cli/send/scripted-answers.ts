import { createHash } from 'node:crypto'

/** Deliveries whose attempts are counted; the oldest is forgotten beyond them. */
const MAX_KNOWN = 10_000

const OK = 200

/**
 * Answers as told: the attempts of each event get the statuses in their order, and the last one from then on.
 *
 * @returns what gives the status for a body. The bytes of an event are the same at each attempt
 */
export function scriptedAnswers(statuses: readonly number[]): (body: Uint8Array) => number {
  const attempts = new Map<string, number>()
  return (body) => {
    const key = createHash('sha256').update(body).digest('base64')
    const before = attempts.get(key) ?? 0
    attempts.delete(key)
    attempts.set(key, before + 1)
    if (attempts.size > MAX_KNOWN) attempts.delete(attempts.keys().next().value ?? key)
    return statuses[Math.min(before, statuses.length - 1)] ?? OK
  }
}
