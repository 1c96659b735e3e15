import { Account } from '../../domain/account.js'
import { Refusal, type RefusalCode } from '../../domain/refusal.js'
import type {
  CreatedEvent,
  EventStatus,
  OrderResult,
  WebhookData,
  WebhookKind,
} from '../../domain/resources.js'
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

export interface Ticketing {
  readonly account: Account
  readonly clock: VirtualClock
  /** The emitted webhooks, the latest last. */
  readonly emitted: Emitted[]
  /** Errors of scheduled tasks. */
  readonly errors: unknown[]
  /** The id of one of the initial venues. */
  readonly venueId: string
  /** The body of a valid event with these differences. */
  body(differences?: Readonly<Record<string, unknown>>): Record<string, unknown>
  create(differences?: Readonly<Record<string, unknown>>): CreatedEvent
  publish(differences?: Readonly<Record<string, unknown>>): CreatedEvent
  order(event: CreatedEvent, quantity: number, tier?: number): OrderResult
  /** An event in this state, with `emitted` emptied. */
  eventIn(status: EventStatus): Promise<CreatedEvent>
}

/** An account whose time stands still at `START` until it is advanced. */
export function ticketing(options: { lenient?: boolean; seed?: number; startMs?: number } = {}): Ticketing {
  const { lenient = false, seed = 1, startMs = Date.parse(START) } = options
  const errors: unknown[] = []
  const clock = new VirtualClock({ startMs, frozen: true, onError: (error) => errors.push(error) })
  const emitted: Emitted[] = []
  const account = new Account({
    clock,
    random: new Random(seed),
    lenient,
    publicUrl: () => PUBLIC_URL,
    emit: (kind, data) => void emitted.push({ kind, data } as Emitted),
  })
  const venueId = account.listVenues({}).data[0]?.id ?? ''
  const service: Ticketing = {
    account,
    clock,
    emitted,
    errors,
    venueId,
    body: (differences = {}) => ({
      title: 'Harbour Jazz',
      venue_id: venueId,
      doors_at: '2026-07-01T19:00:00+01:00',
      tickets: [
        { name: 'GA', price_cents: 2500, quantity: 3 },
        { name: 'Balcony', price_cents: 4000, quantity: 2 },
      ],
      ...differences,
    }),
    create: (differences) => account.createEvent(service.body(differences)),
    publish(differences) {
      const event = service.create(differences)
      account.publishEvent(event.id)
      return event
    },
    order: (event, quantity, tier = 0) =>
      account.createOrder({ event_id: event.id, ticket_tier_id: tierId(event, tier), quantity }),
    async eventIn(status) {
      const event = status === 'draft' ? service.create() : service.publish()
      if (status === 'sold_out') {
        service.order(event, 3, 0)
        service.order(event, 2, 1)
      }
      if (status === 'cancelled') account.cancelEvent(event.id)
      if (status === 'past') await clock.advanceTo(Date.parse(event.ends_at))
      emitted.length = 0
      return event
    },
  }
  return service
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
