// Strict, as `toStrictEqual` would be if it did not take a field `constructor` for a class.
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { type EventKind, isKnownEvent, parseEvent } from 'tix-webhooks'
import { type SampleDataByKind, sampleEvent } from 'tix-webhooks/testing'
import {
  anyEvents,
  eventsOf,
  knownEvents,
  lifecycleEvents,
  orderCreatedEvents,
} from 'tix-webhooks/testing/fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../support/runs.js'
import { labelsOf, manyOf } from '../../support/testing/samples-of.js'
import { specFaults } from '../../support/testing/service-spec.js'

const KINDS: EventKind[] = ['order.created', 'event.published', 'event.cancelled', 'event.rescheduled']

const NOT_ASCII = /\P{ASCII}/u

describe('an event of a documented kind', () => {
  test.each(KINDS)('is valid by the specification, and plain JSON: %s', async (kind) => {
    await fc.assert(
      fc.asyncProperty(eventsOf(kind), async (event) => {
        expect(event.type).toBe(kind)
        expect(specFaults(event)).toEqual([])
        // No object without a prototype, no undefined, no -0.
        deepStrictEqual(await parseEvent(JSON.stringify(event)), event)
      }),
      { numRuns: runs(30) },
    )
  })

  test('would be seen if it were not valid', () => {
    const order = sampleEvent('order.created')
    const published = sampleEvent('event.published')
    const eventWith = (change: object) => ({
      ...published,
      data: { event: { ...(published.data.event as object), ...change } },
    })
    expect(KINDS.flatMap((kind) => specFaults(sampleEvent(kind)))).toEqual([])
    expect([
      ...specFaults({ ...order, created_at: '2026-05-17T16:00:00+02:00' }),
      ...specFaults({ ...order, data: { ...order.data, order: { ...order.data.order, total_cents: 1.5 } } }),
      ...specFaults({ ...order, data: { ...order.data, tickets: [{ id: 'ord_1', tier: 'VIP', seat: 1 }] } }),
      ...specFaults(eventWith({ doors_at: '2026-05-17T16:00:00Z' })),
      ...specFaults(eventWith({ title: '<b>', url: 'x' })),
    ]).toEqual([
      'event.created_at is not ISO 8601 UTC',
      'event.data.order.total_cents is not a whole number, 0 or more',
      'event.data.tickets[0].seat is not documented',
      'event.data.tickets[0].id is not an id tik_…',
      'event.data.event.doors_at is not ISO 8601 with an offset',
      'event.data.event.title is not a title without HTML',
      'event.data.event.url is not a URL',
    ])
  })

  test('of all kinds is among those of the groups', () => {
    expect(new Set(manyOf(knownEvents(), 50).map(({ type }) => type))).toEqual(new Set(KINDS))
    expect(new Set(manyOf(lifecycleEvents(), 50).map(({ type }) => type))).toEqual(new Set(KINDS.slice(1)))
    expect(manyOf(anyEvents(), 50).some((event) => isKnownEvent(event))).toBe(true)
    expect(manyOf(anyEvents(), 50).some((event) => !isKnownEvent(event))).toBe(true)
  })

  test.each(['order.refunded', 'constructor', ''])('cannot be had of a kind that is none: %j', (kind) => {
    expect(() => eventsOf(kind as EventKind)).toThrow(TypeError)
    expect(() => eventsOf(kind as EventKind)).toThrow(
      'kind must be one of order.created, event.published, event.cancelled, event.rescheduled; unknownEvents() makes',
    )
  })
})

test('orders are of all sorts', () => {
  const seen = labelsOf(orderCreatedEvents(), ({ created_at, data: { order, tickets } }) => ({
    free: order.total_cents === 0,
    'past 32 bits': order.total_cents > 2 ** 32,
    'without tickets': tickets.length === 0,
    'with one ticket': tickets.length === 1,
    'with more than a hundred tickets': tickets.length > 100,
    'with two tickets of one tier': new Set(tickets.map(({ tier }) => tier)).size < tickets.length,
    'with a tier that is not ASCII': tickets.some(({ tier }) => NOT_ASCII.test(tier)),
    'with a tier of more than one plane': tickets.some(({ tier }) => [...tier].length < tier.length),
    'with a long tier': tickets.some(({ tier }) => tier.length > 500),
    'with a quote in the address': order.buyer_email.includes("'"),
    'with a plus in the address': order.buyer_email.includes('+'),
    'at a part of a second': created_at.includes('.'),
    'of another century': created_at.startsWith('21'),
  }))
  expect(seen.missing).toEqual([])
})

test('the tickets of an order have ids of their own', () => {
  fc.assert(
    fc.property(orderCreatedEvents(), ({ data: { tickets } }) => {
      expect(new Set(tickets.map(({ id }) => id)).size).toBe(tickets.length)
    }),
  )
})

test('ticketed events are of all sorts', () => {
  const seen = labelsOf(eventsOf('event.rescheduled'), ({ created_at, data }) => {
    const { event, previous_attributes } = data as { event: unknown; previous_attributes: unknown } as {
      event: SampleDataByKind['event.published']['event']
      previous_attributes: { doors_at: string; ends_at: string }
    }
    const offset = (date: string): string => date.slice(-6)
    return {
      [event.status]: true,
      [event.refund_policy]: true,
      [`${event.transferable}`]: true,
      free: event.gross_cents === 0,
      'sold out': event.sold === event.capacity && event.capacity > 0,
      'sold in part': event.sold > 0 && event.sold < event.capacity,
      'not ASCII': NOT_ASCII.test(event.title),
      'long title': event.title.length > 500,
      paragraphs: event.description_md.includes('\n\n'),
      'east of UTC': offset(event.doors_at).startsWith('+'),
      'west of UTC': offset(event.doors_at).startsWith('-'),
      UTC: offset(event.doors_at) === '+00:00',
      'zone of half an hour': offset(event.doors_at).endsWith(':30'),
      'night of the change': offset(event.doors_at) !== offset(event.ends_at),
      past: Date.parse(event.ends_at) < Date.parse(created_at),
      earlier: Date.parse(event.doors_at) < Date.parse(previous_attributes.doors_at),
      later: Date.parse(event.doors_at) > Date.parse(previous_attributes.doors_at),
    }
  })
  expect(seen.missing).toEqual([])
  for (const status of ['draft', 'on_sale', 'sold_out', 'past', 'cancelled'])
    expect(seen.found).toContain(status)
  for (const policy of ['anytime', 'refundable_24h', 'refundable_7d', 'final', 'exchange_only'])
    expect(seen.found).toContain(policy)
  expect(seen.found).toEqual(expect.arrayContaining(['true', 'false']))
})

test('what happened to a ticketed event shows in it', () => {
  fc.assert(
    fc.property(lifecycleEvents(), ({ type, created_at, data }) => {
      const { event, previous_attributes: previous } = data as unknown as {
        event: SampleDataByKind['event.published']['event']
        previous_attributes?: { doors_at: string }
      }
      if (type === 'event.published') expect(event.status).toBe('on_sale')
      if (type === 'event.cancelled') expect(event.status).toBe('cancelled')
      if (type === 'event.rescheduled') expect(previous?.doors_at).not.toBe(event.doors_at)
      expect(event.updated_at).toBe(created_at)
      expect(Date.parse(event.created_at)).toBeLessThanOrEqual(Date.parse(event.updated_at))
      expect(Date.parse(event.doors_at)).toBeLessThan(Date.parse(event.ends_at))
      expect(event.sold).toBeLessThanOrEqual(event.capacity)
    }),
  )
})
