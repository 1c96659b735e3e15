import type { EventDataByKind, OrderCreatedData } from 'tix-webhooks'
import type { SampleDataByKind } from 'tix-webhooks/testing'
import {
  type CreatedEvent,
  type CreatedOrder,
  createSandbox,
  type EventsQuery,
  type NewEvent,
  type NewOrder,
  type PageQuery,
  type SandboxEvent,
  type Venue,
} from 'tix-webhooks-sandbox'
import { expectTypeOf, test } from 'vitest'
import type * as z from 'zod'
import type {
  createEventBody,
  createOrderBody,
  listEventsQuery,
  listVenuesQuery,
} from '../../domain/requests/requests.js'
import type * as Schema from '../../domain/resources.js'

type TicketedEvent = SampleDataByKind['event.published']['event']

/** The specification does not show these fields: they are null if none was given. */
type Nullable = 'description_md' | 'image_url'

test('the event object is that of the package, but for what is null where none was given', () => {
  expectTypeOf<Omit<Schema.EventObject, Nullable>>().toEqualTypeOf<Omit<TicketedEvent, Nullable>>()
  expectTypeOf<NonNullable<Schema.EventObject[Nullable]>>().toEqualTypeOf<TicketedEvent[Nullable]>()
})

test('webhooks have the kinds and the documented data of the package', () => {
  expectTypeOf<Schema.WebhookKind>().toEqualTypeOf<keyof EventDataByKind>()
  expectTypeOf<Schema.WebhookData['order.created']>().toEqualTypeOf<OrderCreatedData>()
})

test('what an account gives is what the schemas of the API say', () => {
  expectTypeOf<SandboxEvent>().toEqualTypeOf<Schema.EventObject>()
  expectTypeOf<CreatedEvent['tickets'][0]>().toEqualTypeOf<Schema.TicketTier>()
  expectTypeOf<keyof CreatedEvent>().toEqualTypeOf<keyof Schema.CreatedEvent>()
  expectTypeOf<Venue>().toEqualTypeOf<Schema.VenueObject>()
  expectTypeOf<CreatedOrder['order']>().toEqualTypeOf<Schema.OrderResult['order']>()
  expectTypeOf<CreatedOrder['tickets'][number]>().toEqualTypeOf<Schema.OrderResult['tickets'][number]>()
})

test('what an account takes has the names that the schemas of the API have', () => {
  expectTypeOf<keyof NewEvent>().toEqualTypeOf<keyof z.input<typeof createEventBody>>()
  expectTypeOf<keyof NewOrder>().toEqualTypeOf<keyof z.input<typeof createOrderBody>>()
  expectTypeOf<keyof EventsQuery>().toEqualTypeOf<keyof z.input<typeof listEventsQuery>>()
  expectTypeOf<keyof PageQuery>().toEqualTypeOf<keyof z.input<typeof listVenuesQuery>>()
})

test('slips in options do not compile', () => {
  // @ts-expect-error there is no such event
  createSandbox({ endpoints: [{ url: 'http://localhost', events: ['order.craeted'] }] })
  // @ts-expect-error there is no such reading
  createSandbox({ assume: { signature: 'comma' } })
  // @ts-expect-error there is no such option
  createSandbox({ frozn: true })
})

test('nothing that a sandbox gives is any', () => {
  const sandbox = createSandbox()
  expectTypeOf(sandbox.account.createEvent).returns.not.toBeAny()
  expectTypeOf(sandbox.deliveries.list()[0]).not.toBeAny()
  expectTypeOf(sandbox.trigger('order.created')).resolves.not.toBeAny()
})
