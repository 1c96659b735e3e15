import { randomInt } from 'node:crypto'
import { piecesOf } from '../../sandbox/internal.js'
import type { EventKind } from '../../src/index.js'
import { sampleEvent } from '../../testing/index.js'

const MAX_SEED = 2 ** 32

/** Longer than a piece of the event that it is in. */
const WIDE = '€'.repeat(80)

/**
 * The JSON of an event that nobody has seen before, with ids that are made up: a receiver that remembers those of an earlier check
 * would take them for duplicates.
 */
export function madeUpEvent(kind: EventKind): string {
  return JSON.stringify(sampleEvent(kind, unseen()))
}

/** One whose bytes, sent in pieces, are cut within a character: whoever makes text of each piece spoils it. */
export function madeUpEventToCut(kind: EventKind): string {
  const options = unseen()
  const bodies = Array.from({ length: 16 }, (_, shift) => {
    const text = 'x'.repeat(shift) + WIDE
    return JSON.stringify(
      kind === 'order.created'
        ? sampleEvent(kind, { ...options, data: { tickets: [{ tier: text }] } })
        : sampleEvent(kind, { ...options, data: { event: { title: text } } }),
    )
  })
  return bodies.find(isCutWithinCharacter) ?? madeUpEvent(kind)
}

/** The JSON of an event with data of the user's own: the same data each time, at another date. */
export function givenEvent(type: string, data: object): string {
  latestMs = Math.max(latestMs + 1, Date.now())
  return JSON.stringify({ type, created_at: new Date(latestMs).toISOString(), data })
}

let latestMs = 0

function unseen(): { seed: number; at: number } {
  return { seed: randomInt(MAX_SEED), at: Date.now() }
}

/** A byte that begins with 10 goes on with a character. */
function isCutWithinCharacter(body: string): boolean {
  return piecesOf(Buffer.from(body)).some(([first = 0]) => (first & 0b1100_0000) === 0b1000_0000)
}
