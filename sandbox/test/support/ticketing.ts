import { Account } from '../../domain/account.js'
import { Refusal, type RefusalCode } from '../../domain/refusal.js'
import type { CreatedEvent, EventStatus, WebhookData, WebhookKind } from '../../domain/resources.js'
import { Random } from '../../lib/random.js'
import { VirtualClock } from '../../time/clock.js'

/** The start of an account of the tests. */
export const START = '2026-06-01T10:00:00.000Z'
export const HOUR_MS = 60 * 60 * 1000
export const DAY_MS = 24 * HOUR_MS
export const PUBLIC_URL = 'http://127.0.0.1:4010'

type Emitted = {
  [Kind in WebhookKind]: { readonly kind: Kind; readonly data: WebhookData[Kind] }
}[WebhookKind]

export type Ticketing = ReturnType<typeof ticketing>

type Differences = Readonly<Record<string, unknown>>

/** An account whose time stands still at `START` until it is advanced. */
export function ticketing(options: { lenient?: boolean; seed?: number; startMs?: number } = {}) {
  const { lenient = false, seed = 1, startMs = Date.parse(START) } = options
  /** Errors of scheduled tasks. */
  const errors: unknown[] = []
  const clock = new VirtualClock({ startMs, frozen: true, onError: (error) => errors.push(error) })
  /** The emitted webhooks, the latest last. */
  const emitted: Emitted[] = []
  const account = new Account({
    clock,
    random: new Random(seed),
    lenient,
    publicUrl: () => PUBLIC_URL,
    emit: (kind, data) => void emitted.push({ kind, data } as Emitted),
  })
  const venueId = account.listVenues({}).data[0]?.id ?? ''
  /** The body of a valid event with these differences. */
  const body = (differences: Differences = {}): Record<string, unknown> => ({
    title: 'Harbour Jazz',
    venue_id: venueId,
    doors_at: '2026-07-01T19:00:00+01:00',
    tickets: [
      { name: 'GA', price_cents: 2500, quantity: 3 },
      { name: 'Balcony', price_cents: 4000, quantity: 2 },
    ],
    ...differences,
  })
  const create = (differences?: Differences) => account.createEvent(body(differences))
  const publish = (differences?: Differences) => {
    const event = create(differences)
    account.publishEvent(event.id)
    return event
  }
  const order = (event: CreatedEvent, quantity: number, tier = 0) =>
    account.createOrder({ event_id: event.id, ticket_tier_id: tierId(event, tier), quantity })
  /** An event in this state, with `emitted` emptied. */
  const eventIn = async (status: EventStatus) => {
    const event = status === 'draft' ? create() : publish()
    if (status === 'sold_out') {
      order(event, 3, 0)
      order(event, 2, 1)
    }
    if (status === 'cancelled') account.cancelEvent(event.id)
    if (status === 'past') await clock.advanceTo(Date.parse(event.ends_at))
    emitted.length = 0
    return event
  }
  return { account, clock, emitted, errors, venueId, body, create, publish, order, eventIn }
}

export function tierId(event: CreatedEvent, index = 0): string {
  return event.tickets[index]?.id ?? ''
}

/** The refusal that a call throws. */
export function thrownRefusal(call: () => unknown): Refusal {
  try {
    call()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('It was not refused.')
}

/** The code and the field of a refusal. */
export function apiRefusalOf(call: () => unknown): [RefusalCode, string | undefined] {
  const { code, param } = thrownRefusal(call)
  return [code, param]
}
