import * as z from 'zod'
import { Refusal } from '../domain/refusal.js'
import type { NewEvent } from './sandbox-account.js'
import type { Service } from './service.js'

/** The fixtures of an account. Events without a venue have the first one there is. */
export interface Fixtures {
  /** Default `test`. */
  account?: 'test' | 'live'
  venues?: readonly NonNullable<NewEvent['venue']>[]
  events?: readonly FixtureEvent[]
}

/** The body of `POST /v2/events`, with the state and the orders of the event. */
export interface FixtureEvent extends NewEvent {
  /** Default `draft`. */
  status?: 'draft' | 'on_sale' | 'cancelled'
  /** Orders of tickets of a tier, which is given by its name. */
  orders?: readonly { tier: string; quantity: number }[]
}

/** How many of each were created. */
export interface Filled {
  readonly venues: number
  readonly events: number
  readonly orders: number
}

const order = z.strictObject({ tier: z.string(), quantity: z.int().min(1) })

const event = z
  .looseObject({
    status: z.enum(['draft', 'on_sale', 'cancelled']).default('draft'),
    orders: z.array(order).default([]),
  })
  .refine(({ status, orders }) => orders.length === 0 || status !== 'draft', {
    message: 'orders need an event that is on sale, or was: set its status to "on_sale" or "cancelled"',
    path: ['orders'],
  })

const fixtures = z.strictObject({
  account: z.enum(['test', 'live']).default('test'),
  venues: z.array(z.unknown()).default([]),
  events: z.array(event).default([]),
})

/**
 * Fills an account with venues, events and orders. No webhooks are sent. All of it is made, or nothing.
 *
 * @throws Refusal that names the place in the fixtures
 */
export function fill(service: Service, given: unknown): Filled {
  const read = fixtures.safeParse(given)
  if (!read.success) {
    const [issue] = read.error.issues
    const place = pathOf(issue?.path ?? [])
    throw new Refusal({
      code: 'parameter_invalid',
      message: `Fixtures must be an object with account, venues and events. ${place === '' ? '' : `${place}: `}${issue?.message}.`,
      param: place,
    })
  }
  const { account: mode, venues, events } = read.data
  const account = service.accounts[mode]
  const before = account.snapshot()
  try {
    service.capture(() => {
      venues.forEach((venue, index) => {
        withPlace(`venues[${index}]`, () => account.createVenue(venue))
      })
      events.forEach(({ status, orders, ...body }, index) => {
        const here = `events[${index}]`
        const created = withPlace(here, () =>
          account.createEvent(withVenue(body, account.listVenues({ limit: '1' }))),
        )
        if (status === 'draft') return
        withPlace(here, () => account.publishEvent(created.id))
        orders.forEach(({ tier, quantity }, number) => {
          withPlace(`${here}.orders[${number}]`, () => {
            const ticket_tier_id = created.tickets.find(({ name }) => name === tier)?.id
            if (ticket_tier_id === undefined) {
              const names = created.tickets.map(({ name }) => name).join(', ')
              throw new Refusal({
                code: 'resource_missing',
                param: 'tier',
                message: `The event has no tier ${JSON.stringify(tier)}: it has ${names}.`,
              })
            }
            return account.createOrder({ event_id: created.id, ticket_tier_id, quantity })
          })
        })
        if (status === 'cancelled') withPlace(here, () => account.cancelEvent(created.id))
      })
    })
  } catch (error) {
    account.restore(before)
    throw error
  }
  return {
    venues: venues.length,
    events: events.length,
    orders: events.reduce((sum, { orders }) => sum + orders.length, 0),
  }
}

function withVenue(body: object, { data: [first] }: { data: readonly { id: string }[] }): object {
  return 'venue' in body || 'venue_id' in body ? body : { ...body, venue_id: first?.id }
}

/** Adds to a refusal its place in the fixtures. */
function withPlace<Result>(place: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const [first] = error.problems
    throw new Refusal({
      ...first,
      message: `${place}: ${first.message}`,
      param: first.param === undefined ? place : `${place}.${first.param}`,
    })
  }
}

function pathOf(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '')
}
