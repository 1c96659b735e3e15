import {
  createReceiver,
  type Envelope,
  type EventCancelledEvent,
  type EventRescheduledEvent,
  type OrderCreatedEvent,
  unchecked,
} from 'tix-webhooks'
import * as v from 'valibot'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const zodPublished = z.object({ at: z.string().transform((text) => new Date(text)) })
const valibotRefund = v.object({ cents: v.pipe(v.string(), v.transform(Number)) })

describe('a schema', () => {
  test('of zod types the data with its output, transforms included', () => {
    createReceiver({
      secret: 's',
      schemas: { 'event.published': zodPublished },
      on: { 'event.published': (event) => expectTypeOf(event.data).toEqualTypeOf<{ at: Date }>() },
    })
  })

  test('of valibot types the data with its output, transforms included', () => {
    createReceiver({
      secret: 's',
      schemas: { 'order.refunded': valibotRefund },
      on: { 'order.refunded': (event) => expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>() },
    })
  })

  test('that checks nothing types the data as its type argument', () => {
    createReceiver({
      secret: 's',
      schemas: { 'order.refunded': unchecked<{ refund_id: string }>() },
      on: {
        'order.refunded': (event) => {
          expectTypeOf(event).toEqualTypeOf<Envelope<'order.refunded', { refund_id: string }>>()
        },
      },
    })
  })

  test('replaces the documented type of its kind, and no other', () => {
    createReceiver({
      secret: 's',
      schemas: { 'order.created': z.object({ order: z.object({ id: z.string() }) }) },
      on: {
        'order.created': (event) => {
          expectTypeOf(event.data).toEqualTypeOf<{ order: { id: string } }>()
          // @ts-expect-error the schema does not let it through
          event.data.tickets
        },
        'event.cancelled': (event) => expectTypeOf(event).toEqualTypeOf<EventCancelledEvent>(),
      },
    })
  })

  test('adds its kind to the groups', () => {
    createReceiver({
      secret: 's',
      schemas: { 'order.refunded': valibotRefund, 'event.published': zodPublished },
      on: {
        'order.*': (event) => {
          expectTypeOf(event).toEqualTypeOf<
            OrderCreatedEvent | Envelope<'order.refunded', { cents: number }>
          >()
          if (event.type === 'order.refunded') expectTypeOf(event.data.cents).toEqualTypeOf<number>()
        },
        'event.*': (event) => {
          expectTypeOf(event).toEqualTypeOf<
            Envelope<'event.published', { at: Date }> | EventCancelledEvent | EventRescheduledEvent
          >()
        },
      },
    })
  })

  test('makes the groups of its kind, the narrow and the wide', () => {
    createReceiver({
      secret: 's',
      schemas: { 'order.ticket.scanned': unchecked<1>(), 'order.ticket.moved': unchecked<2>() },
      on: {
        'order.ticket.*': (event) => expectTypeOf(event.data).toEqualTypeOf<1 | 2>(),
        'order.*': (event) => {
          expectTypeOf(event.type).toEqualTypeOf<
            'order.created' | 'order.ticket.scanned' | 'order.ticket.moved'
          >()
        },
      },
    })
  })

  test('types what onUnhandled gets', () => {
    createReceiver({
      secret: 's',
      schemas: { 'order.refunded': valibotRefund },
      on: {},
      onUnhandled: (event) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf<Extract<typeof event, { readonly type: 'order.refunded' }>['data']>().toEqualTypeOf<{
          cents: number
        }>()
      },
    })
  })

  test('is a Standard Schema', () => {
    createReceiver({
      secret: 's',
      // @ts-expect-error a validating function is not a schema
      schemas: { 'order.refunded': (value: unknown) => value },
      on: {},
    })
  })

  test('lets no handler take what it does not give', () => {
    createReceiver({
      secret: 's',
      schemas: { 'event.published': zodPublished },
      on: {
        // @ts-expect-error the output is a Date
        'event.published': (event: { data: { at: string } }) => event.data.at,
      },
    })
  })
})
