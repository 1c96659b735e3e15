import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RefusalCode } from '../../../domain/refusal.js'
import type { CreatedEvent, EventStatus } from '../../../domain/resources.js'
import {
  apiRefusalOf,
  DAY_MS,
  HOUR_MS,
  START,
  type Ticketing,
  thrownRefusal,
  ticketing,
} from '../../support/ticketing.js'

// Which step follows which, and what is sent, is compared with a model in account.model.test.ts.

const A_SECOND_LATER = '2026-06-01T10:00:01.000Z'
const PLAIN = {
  title: 'Another',
  description_md: '*new*',
  refund_policy: 'final',
  transferable: false,
  ends_at: '2026-07-02T01:00:00+01:00',
}

test.each(['draft', 'on_sale', 'sold_out'] as const)(
  '[S52] [N68] [N74] an update of an event that is %s changes the named fields, and sends no webhook',
  async (status) => {
    const service = ticketing()
    const { account, clock, emitted } = service
    const { id } = await service.eventIn(status)
    const before = account.retrieveEvent(id)
    await clock.advanceBy(1000)
    const image = 'https://example.com/new.jpg'
    const after = account.updateEvent(id, { ...PLAIN, image })
    expect(after).toEqual({ ...before, ...PLAIN, image_url: image, updated_at: A_SECOND_LATER })
    expect(account.retrieveEvent(id)).toEqual(after)
    expect(emitted).toEqual([])
    const snapshot = account.snapshot()
    await clock.advanceBy(1000)
    expect(account.updateEvent(id, {})).toEqual(after)
    expect(account.snapshot()).toEqual(snapshot)
  },
)

test('[N69] [N46] [N47] [N70] [N73] an update of a draft also moves its doors, its venue and its tiers, which are known by their names', () => {
  const { account, create } = ticketing()
  const event = create({ description_md: 'x', image: 'https://example.com/a.jpg' })
  const given = { doors_at: '2026-07-01T20:00Z', venue_id: account.createVenue({ name: 'Barn' }).id }
  const tickets = [
    { name: 'Balcony', price_cents: 1, quantity: 7 },
    { name: 'New', price_cents: 2, quantity: 1 },
  ]
  const after = account.updateEvent(event.id, { ...given, tickets, description_md: null, image: null })
  const cleared = { description_md: null, image_url: null }
  expect(after).toMatchObject({ ...given, ...cleared, ends_at: event.ends_at, capacity: 8 })
  const tiers = account.retrieveWithTickets(event.id).tickets
  expect(tiers).toEqual([
    { ...tickets[0], id: event.tickets[1]?.id },
    { ...tickets[1], id: expect.stringMatching(/^tkt_/) },
  ])
  expect(event.tickets.map((tier) => tier.id)).not.toContain(tiers[1]?.id)
})

test('[N90] [N70] an update with more capacity puts an event on sale again, with less it is sold out', async () => {
  const service = ticketing()
  const { account, order, emitted } = service
  const event = await service.eventIn('sold_out')
  const update = (ga: number, balcony: number) => {
    const tickets = [
      { name: 'GA', price_cents: 9000, quantity: ga },
      { name: 'Balcony', price_cents: 4000, quantity: balcony },
    ]
    const { status, capacity, sold } = account.updateEvent(event.id, { tickets })
    return [status, capacity, sold]
  }
  expect(update(4, 2)).toEqual(['on_sale', 6, 5])
  expect(update(3, 2)).toEqual(['sold_out', 5, 5])
  expect(update(3, 3)).toEqual(['on_sale', 6, 5])
  expect(emitted).toEqual([])
  expect(order(event, 1, 1).order.total_cents).toBe(4000)
  expect(account.retrieveEvent(event.id).status).toBe('sold_out')
})

test('[N48] [N70] [N89] a tier has a new price for later orders, and keeps its sales', () => {
  const { account, publish, order } = ticketing()
  const event = publish()
  order(event, 2)
  account.updateEvent(event.id, { tickets: [{ name: 'GA', price_cents: 1, quantity: 4 }] })
  expect(thrownRefusal(() => order(event, 3)).message).toContain('has 2 left of 4')
  order(event, 2)
  expect(account.retrieveEvent(event.id)).toMatchObject({ status: 'sold_out', sold: 4, gross_cents: 5002 })
})

test('[S43] [S44] [S55] [N77] [N95] a reschedule changes the dates, keeps the length, and is sent with the previous dates', async () => {
  const { account, clock, publish, emitted } = ticketing()
  const { id } = publish({ ends_at: '2026-07-01T20:30:00+01:00' })
  const before = account.retrieveEvent(id)
  await clock.advanceBy(1000)
  emitted.length = 0
  const dates = { doors_at: '2026-08-01T22:00-04:00', ends_at: '2026-08-01T23:30-04:00' }
  const after = account.rescheduleEvent(id, { doors_at: dates.doors_at })
  expect(after).toEqual({ ...before, ...dates, updated_at: A_SECOND_LATER })
  expect(account.retrieveEvent(id)).toEqual(after)
  const previous_attributes = { doors_at: before.doors_at, ends_at: before.ends_at }
  expect(emitted).toEqual([{ kind: 'event.rescheduled', data: { event: after, previous_attributes } }])
})

test('[N77] the length is kept in the offset of the new doors, whatever these are', () => {
  const minutes = (max: number) => fc.integer({ min: 1, max }).map((count) => count * 60_000)
  const zones = fc.constantFrom('Z', '+05:45', '-03:00')
  fc.assert(
    fc.property(minutes(5000), minutes(200_000), zones, (lengthMs, aheadMs, zone) => {
      const { account, create } = ticketing()
      const doorsMs = Date.parse('2026-07-01T18:00Z')
      const { id } = create({ ends_at: new Date(doorsMs + lengthMs).toISOString() })
      const later = new Date(doorsMs + 12 * HOUR_MS + aheadMs).toISOString().slice(0, 16)
      const { doors_at, ends_at } = account.rescheduleEvent(id, { doors_at: `${later}${zone}` })
      expect(Date.parse(ends_at) - Date.parse(doors_at)).toBe(lengthMs)
      expect(ends_at.endsWith(zone)).toBe(true)
    }),
  )
})

test('[N79] doors may be the next millisecond', () => {
  const { account, create } = ticketing()
  const doors_at = '2026-06-01T10:00:00.001Z'
  expect(account.rescheduleEvent(create().id, { doors_at }).doors_at).toBe(doors_at)
})

const LATER = '2026-08-01T22:00Z'
const SAME = '2026-07-01T18:00Z'
const EARLY_END = 'ends_at_before_doors_at'
const IS_OUT = 'event_already_published'
type Operation = 'update' | 'reschedule' | 'publish' | 'cancel'

test.each<[string, Operation, EventStatus, unknown, RefusalCode, string?]>([
  ['[N12]', 'update', 'draft', { title: 'a\n' }, 'parameter_invalid', 'title'],
  ['[N12]', 'update', 'draft', { ends_at: null }, 'parameter_invalid', 'ends_at'],
  ['[N35]', 'update', 'draft', { ends_at: SAME }, EARLY_END, 'ends_at'],
  ['[N35]', 'update', 'draft', { doors_at: LATER }, EARLY_END, 'doors_at'],
  ['[N52]', 'update', 'draft', { on_sale_at: LATER }, 'on_sale_after_end', 'on_sale_at'],
  ['[N16]', 'update', 'draft', { venue_id: 'ven_none' }, 'resource_missing', 'venue_id'],
  ['[N13]', 'update', 'draft', { venue: { name: 'Barn' } }, 'parameter_unknown', 'venue'],
  ['[N72]', 'update', 'draft', { sold: 1 }, 'parameter_unknown', 'sold'],
  ['[N71]', 'update', 'on_sale', { doors_at: LATER }, 'use_reschedule', 'doors_at'],
  ['[N71]', 'update', 'sold_out', { doors_at: LATER }, 'use_reschedule', 'doors_at'],
  ['[N69]', 'update', 'on_sale', { on_sale_at: null }, IS_OUT, 'on_sale_at'],
  ['[N69]', 'update', 'sold_out', { on_sale_at: SAME }, IS_OUT, 'on_sale_at'],
  ['[N85]', 'update', 'past', { title: 'x' }, 'event_past'],
  ['[N86]', 'update', 'cancelled', { title: 'x' }, 'event_cancelled'],
  ['[N93]', 'update', 'past', { title: 5 }, 'parameter_invalid', 'title'],
  ['[N77] [N93]', 'reschedule', 'past', {}, 'parameter_missing', 'doors_at'],
  ['[N10]', 'reschedule', 'draft', undefined, 'parameter_invalid'],
  ['[N78]', 'reschedule', 'draft', { doors_at: SAME, ends_at: LATER }, 'doors_at_unchanged', 'doors_at'],
  ['[N79]', 'reschedule', 'draft', { doors_at: START }, 'doors_at_in_past', 'doors_at'],
  ['[N35]', 'reschedule', 'draft', { doors_at: LATER, ends_at: SAME }, EARLY_END, 'ends_at'],
  ['[N77]', 'reschedule', 'draft', { doors_at: '9998-12-31T23:00Z' }, 'parameter_invalid', 'doors_at'],
  ['[N13]', 'reschedule', 'draft', { doors_at: LATER, title: 'x' }, 'parameter_unknown', 'title'],
  ['[N75] [N93]', 'publish', 'past', { now: true }, 'parameter_unknown', 'now'],
  ['[N75]', 'publish', 'draft', null, 'parameter_invalid'],
  ['[N75] [N93]', 'cancel', 'cancelled', { why: 1 }, 'parameter_unknown', 'why'],
  ['[N75]', 'cancel', 'draft', [], 'parameter_invalid'],
])('%s %s of an event that is %s is refused: %j', async (_, operation, status, given, code, param) => {
  const service = ticketing()
  const { account, emitted } = service
  const { id } = await service.eventIn(status)
  const before = account.snapshot()
  expect(apiRefusalOf(() => account[`${operation}Event`](id, given))).toEqual([code, param])
  expect(account.snapshot()).toEqual(before)
  expect(emitted).toEqual([])
})

test.each<[string, unknown, string]>([
  ['fewer than are sold', [{ name: 'GA', price_cents: 1, quantity: 1 }], 'tickets[0].quantity'],
  ['without a tier that has sales', [{ name: 'Balcony', price_cents: 1, quantity: 9 }], 'tickets'],
])('[N70] an update is refused with tickets %s', (_, tickets, param) => {
  const { account, publish, order } = ticketing()
  const event = publish()
  order(event, 2)
  const before = account.snapshot()
  const refusal = thrownRefusal(() => account.updateEvent(event.id, { tickets }))
  expect([refusal.code, refusal.param]).toEqual(['parameter_invalid', param])
  expect(refusal.message).toContain(
    'the tier "GA", of which 2 are sold: give it with a quantity of at least 2',
  )
  expect(account.snapshot()).toEqual(before)
})

test.each(['on_sale', 'sold_out'] as const)(
  '[N88] an event that is %s becomes past by a job, exactly at its end, even if nothing reads it',
  async (status) => {
    const service = ticketing()
    const { account, clock } = service
    const { ends_at } = await service.eventIn(status)
    expect(clock.nextAt()).toBe(Date.parse(ends_at))
    await clock.advanceTo(Date.parse(ends_at) + 5000)
    const [event] = (account.snapshot() as { events: unknown[] }).events
    expect(event).toMatchObject({ status: 'past', updated_at: new Date(ends_at).toISOString() })
    expect(clock.nextAt()).toBeUndefined()
  },
)

test.each<[string, (service: Ticketing, event: CreatedEvent) => unknown]>([
  ['retrieveEvent', ({ account }, { id }) => account.retrieveEvent(id).status],
  ['listEvents', ({ account }) => account.listEvents({}).data[0]?.status],
  ['findBySlug', ({ account }, { slug }) => account.findBySlug(slug)?.status],
  ['createOrder', ({ order }, event) => thrownRefusal(() => order(event, 1)).code],
  ['cancelEvent', ({ account }, { id }) => thrownRefusal(() => account.cancelEvent(id)).code],
])('[N88] an event is past when %s reads it before its job has run', (_, read) => {
  const service = ticketing()
  const event = service.publish()
  // A clock that has jumped, as after a sleep of the machine.
  Object.defineProperty(service.clock, 'now', { value: () => Date.parse(event.ends_at) })
  expect(read(service, event)).toMatch(/^(event_)?past$/)
})

test('[S39] [S42] [N75] [N94] to publish and to cancel answers with the whole event, and sends it', async () => {
  const { account, clock, create, emitted } = ticketing()
  const { tickets: _, ...event } = create({ description_md: 'x' })
  await clock.advanceBy(1000)
  const published = account.publishEvent(event.id)
  expect(published).toEqual({ ...event, status: 'on_sale', updated_at: A_SECOND_LATER })
  const cancelled = account.cancelEvent(event.id, {})
  expect(cancelled).toEqual({ ...published, status: 'cancelled' })
  expect(emitted).toEqual([
    { kind: 'event.published', data: { event: published } },
    { kind: 'event.cancelled', data: { event: cancelled } },
  ])
})

const dayAfterStart = (days: number): number => Date.parse(START) + days * DAY_MS
const onSale = (days: number) => ({ on_sale_at: new Date(dayAfterStart(days)).toISOString() })

test('[S39] [S45] [N69] an event goes live at its on_sale_at, which an update moves, and null removes', async () => {
  const { account, clock, create, emitted } = ticketing()
  const { id } = create(onSale(1))
  account.updateEvent(id, onSale(3))
  account.updateEvent(id, { title: 'Another' })
  expect(clock.nextAt()).toBe(dayAfterStart(3))
  account.updateEvent(id, { on_sale_at: null })
  expect(clock.nextAt()).toBeUndefined()
  await clock.advanceBy(4 * DAY_MS)
  expect(account.retrieveEvent(id).status).toBe('draft')
  const { on_sale_at } = onSale(5)
  account.updateEvent(id, { on_sale_at })
  await clock.advanceBy(DAY_MS - 1)
  expect(emitted).toEqual([])
  await clock.advanceBy(HOUR_MS)
  const event = account.retrieveEvent(id)
  expect(event).toMatchObject({ status: 'on_sale', updated_at: on_sale_at })
  expect(emitted).toEqual([{ kind: 'event.published', data: { event } }])
})

test('an event never has more than one timer', () => {
  const { account, clock, create } = ticketing()
  const { id } = create(onSale(1))
  for (const day of [3, 4, 5]) account.rescheduleEvent(id, { doors_at: `2026-08-0${day}T19:00Z` })
  expect(clock.nextAt()).toBe(dayAfterStart(1))
  account.publishEvent(id)
  for (const day of [6, 7, 8]) account.rescheduleEvent(id, { doors_at: `2026-08-0${day}T19:00Z` })
  expect(clock.nextAt()).toBe(Date.parse('2026-08-08T23:00Z'))
  account.cancelEvent(id)
  expect(clock.nextAt()).toBeUndefined()
})
