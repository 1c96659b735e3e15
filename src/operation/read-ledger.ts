import { STATEMENT_MS } from '../durations.js'
import { StoreError } from '../errors.js'
import type { EventFailure, EventQuery, EventRecord, Ledger } from '../ledger/ledger.js'
import { isMisuse } from '../lib/call-site.js'
import { describeType } from '../lib/describe-type.js'
import { shownMessageOf } from '../lib/errors/redact-error.js'
import { within } from '../lib/time/alarm-clock.js'

/** An event that can be replayed: its bytes and its failure are kept. */
export interface ReplayableEvent extends EventRecord {
  readonly rawBody: Uint8Array
  readonly signedAt: Date
  readonly secretIndex: number
  readonly failure: EventFailure
}

/** @throws StoreError when it cannot be read, or is not the one that was asked for */
export async function readEvent(ledger: Ledger, key: string): Promise<ReplayableEvent | undefined> {
  const event: unknown = await answerOf(async () => ledger.get(key))
  if (event === undefined || (event as EventRecord | null)?.failure === undefined) return undefined
  return checked(event, { key })
}

/** @throws StoreError when it cannot be read, or has one that does not match */
export async function readPage(ledger: Ledger, query: EventQuery): Promise<readonly ReplayableEvent[]> {
  const page: unknown = await answerOf(async () => ledger.list({ ...query, bodies: true }))
  if (!Array.isArray(page)) throw misbehaved(`The list of the ledger returned ${describeType(page)}`)
  const { order, before, after, limit, ...conditions } = query
  return page.map((event) => checked(event, conditions))
}

/** The answer of the ledger, which may be foreign code. */
async function answerOf<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await within(ask(), STATEMENT_MS, () => {
      throw new StoreError('store_unavailable', `it took longer than ${STATEMENT_MS / 1000} s.`)
    })
  } catch (cause) {
    if (isMisuse(cause)) throw cause
    const message = `The ledger could not be read, so nothing was replayed: ${shownMessageOf(cause)}`
    throw new StoreError('store_unavailable', message, { cause })
  }
}

/** A filter that is ignored would replay every event. */
function checked(value: unknown, conditions: Readonly<Record<string, unknown>>): ReplayableEvent {
  const event = Object(value) as Readonly<Record<keyof EventRecord, unknown>>
  const { group, count, replays } = Object(event.failure) as Readonly<Record<keyof EventFailure, unknown>>
  const isReplayable =
    typeof event.key === 'string' &&
    typeof event.namespace === 'string' &&
    (event.account === undefined || typeof event.account === 'string') &&
    event.rawBody instanceof Uint8Array &&
    event.signedAt instanceof Date &&
    event.receivedAt instanceof Date &&
    Number.isInteger(event.secretIndex) &&
    Number.isInteger(count) &&
    Number.isInteger(replays)
  if (!isReplayable) {
    throw misbehaved(
      'The ledger returned an event that cannot be replayed: rawBody must be a Uint8Array, signedAt and receivedAt Dates, and failure have its counts',
    )
  }
  const found: Readonly<Record<string, unknown>> = { ...event, group }
  for (const [name, wanted] of Object.entries(conditions)) {
    if (wanted !== undefined && found[name] !== wanted)
      throw misbehaved(`The ledger returned an event with another ${name} than was asked for`)
  }
  return value as ReplayableEvent
}

function misbehaved(what: string): StoreError {
  return new StoreError('store_misbehaved', `${what}. See Ledger.`)
}
