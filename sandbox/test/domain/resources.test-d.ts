import type { EventDataByKind, OrderCreatedData } from 'tix-webhooks'
import type { SampleDataByKind } from 'tix-webhooks/testing'
import { expectTypeOf, test } from 'vitest'
import type { EventObject, WebhookData, WebhookKind } from '../../domain/resources.js'

type TicketedEvent = SampleDataByKind['event.published']['event']

/** The specification does not show these fields: they are null if none was given. */
type Nullable = 'description_md' | 'image_url'

test('the event object is that of the package, but for what is null where none was given', () => {
  expectTypeOf<Omit<EventObject, Nullable>>().toEqualTypeOf<Omit<TicketedEvent, Nullable>>()
  expectTypeOf<NonNullable<EventObject[Nullable]>>().toEqualTypeOf<TicketedEvent[Nullable]>()
})

test('webhooks have the kinds and the documented data of the package', () => {
  expectTypeOf<WebhookKind>().toEqualTypeOf<keyof EventDataByKind>()
  expectTypeOf<WebhookData['order.created']>().toEqualTypeOf<OrderCreatedData>()
})
