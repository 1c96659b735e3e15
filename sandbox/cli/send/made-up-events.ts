import type { EventKind } from 'tix-webhooks'
import { sampleEvent } from 'tix-webhooks/testing'
import { piecesOf, withChanges } from '../../internal.js'
import { asUsage, messageOf, UsageError } from '../failure.js'

/** Longer than a piece of the event that it is in. */
const WIDE = '€'.repeat(80)

/**
 * The JSON of a new event with made-up ids: a receiver that remembers those of an earlier check
 * would take them for duplicates.
 */
export function madeUpEvent(kind: EventKind): string {
  return JSON.stringify(sampleEvent(kind, { at: unseenDate() }))
}

/** An event that is split within a character when it is sent in pieces: a receiver that decodes each piece corrupts it. */
export function madeUpEventToCut(kind: EventKind): string {
  const at = unseenDate()
  const bodies = Array.from({ length: 16 }, (_, shift) => {
    const text = 'x'.repeat(shift) + WIDE
    return JSON.stringify(
      kind === 'order.created'
        ? sampleEvent(kind, { at, data: { tickets: [{ tier: text }] } })
        : sampleEvent(kind, { at, data: { event: { title: text } } }),
    )
  })
  return bodies.find(isCutWithinCharacter) ?? madeUpEvent(kind)
}

/** The JSON of an event with data of the user's own: the same data each time, at another date. */
export function givenEvent(type: string, data: object): string {
  return JSON.stringify({ type, created_at: unseenDate(), data })
}

let latestMs = 0

/** A time from now on, different for each event: some receivers identify events by their date. */
function unseenDate(): string {
  latestMs = Math.max(latestMs + 1, Date.now())
  return new Date(latestMs).toISOString()
}

/** A byte that begins with 10 goes on with a character. */
function isCutWithinCharacter(body: string): boolean {
  return piecesOf(Buffer.from(body)).some(([first = 0]) => (first & 0b1100_0000) === 0b1000_0000)
}

/** An event to be sent without a sandbox. */
export interface EventRequest {
  readonly kind: string
  /** `data` whole. Default: a sample, for a kind that is documented. */
  readonly data?: Readonly<Record<string, unknown>> | undefined
  /** The JSON of a captured event, to be sent as it is. */
  readonly event?: string | undefined
  /** Other values at some paths. */
  readonly set: Readonly<Record<string, unknown>>
}

/**
 * Makes the JSON of another event each time it is called.
 *
 * @throws UsageError if there is no sample of the kind, or a path that is set is not there
 */
export async function eventMaker({ kind, data, event: captured, set }: EventRequest): Promise<() => string> {
  if (captured !== undefined) return () => captured
  const make = (): string => {
    const sample = data === undefined ? sampleOf(kind) : { data }
    const event = { type: kind, created_at: unseenDate(), data: sample.data }
    return JSON.stringify(withChanges(event, set))
  }
  await asUsage(() => tried(make))
  return make
}

/** The sample of a kind. Any text may be given as a kind, and `sampleEvent` refuses one that it does not know. */
function sampleOf(kind: string): { data: object } {
  return sampleEvent(kind as 'order.created')
}

function tried(make: () => string): void {
  try {
    make()
  } catch (cause) {
    if (cause instanceof TypeError) throw cause
    throw new UsageError(messageOf(cause), { cause })
  }
}
