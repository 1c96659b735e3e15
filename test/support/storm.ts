import type { Mark } from './apps/protocol.js'
import { WAIT_LIMIT_MS } from './patience.js'
import type { End, Order } from './running-apps.js'

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Delivers until it is no longer in flight. */
export async function whileInFlight(deliver: () => Promise<End>): Promise<End> {
  for (const endMs = performance.now() + WAIT_LIMIT_MS; performance.now() < endMs; ) {
    const end = await deliver()
    if (typeof end === 'string' || end.outcome !== 'in_flight') return end
  }
  throw new Error(`It was in flight for ${WAIT_LIMIT_MS / 1000} s`)
}

/** The marks at a COMMIT. Postgres.js commits by itself, and is not stopped while it does. */
export function commitMarks(client: string): Mark[] {
  if (client === 'postgres.js') return ['before COMMIT', 'after COMMIT']
  return ['before COMMIT', 'while COMMIT is under way', 'after COMMIT']
}

/** The violations of a storm: orders whose effect is missing, or happened more than once. */
export function violations(
  orders: readonly Order[],
  effects: ReadonlyMap<string, readonly string[]>,
): string[] {
  return orders.flatMap(({ id }) => {
    const count = effects.get(id)?.length ?? 0
    return count === 1 ? [] : [`${id} had ${count} effects`]
  })
}
