import { expect, test } from 'vitest'
import { type CreatedEvent, EVENT_STATUSES, webhookData } from '../../../domain/resources.js'
import { DAY_MS, HOUR_MS, START, type Ticketing, thrownRefusal, ticketing } from '../../support/ticketing.js'

// Which step follows which, and what is sent, is compared with a model in account.model.test.ts.

test.each(EVENT_STATUSES)(
  '[N85] [N86] [N93] an event that is %s refuses an invalid request before its state is checked, and then an update when it is over',
  async (status) => {
    const service = ticketing()
    const { account } = service
    const { id } = await service.eventIn(status)
    const before = account.snapshot()
    const codes = [
      () => account.publishEvent(id, { now: true }),
      () => account.cancelEvent(id, { why: 1 }),
      () => account.rescheduleEvent(id, {}),
      () => account.updateEvent(id, { title: 5 }),
    ].map((call) => thrownRefusal(call).code)
    const [unknown, missing, invalid] = ['parameter_unknown', 'parameter_missing', 'parameter_invalid']
    expect(codes).toEqual([unknown, unknown, missing, invalid])
    if (status === 'past' || status === 'cancelled') {
      const { code, message } = thrownRefusal(() => account.updateEvent(id, { title: 'Another' }))
      expect([code, message]).toEqual([`event_${status}`, expect.stringContaining(`The event ${id} `)])
    }
    expect(account.snapshot()).toEqual(before)
  },
)

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

const READERS: Record<string, (service: Ticketing, event: CreatedEvent) => unknown> = {
  retrieveEvent: ({ account }, { id }) => account.retrieveEvent(id).status,
  listEvents: ({ account }) => account.listEvents({}).data[0]?.status,
  findBySlug: ({ account }, { slug }) => account.findBySlug(slug)?.status,
  createOrder: ({ order }, event) => thrownRefusal(() => order(event, 1)).code,
  cancelEvent: ({ account }, { id }) => thrownRefusal(() => account.cancelEvent(id)).code,
}

test.each(Object.entries(READERS))(
  '[N88] an event is past when %s reads it before its job has run',
  (_, read) => {
    const service = ticketing()
    const event = service.publish()
    // A clock that has jumped, as after a sleep of the machine.
    Object.defineProperty(service.clock, 'now', { value: () => Date.parse(event.ends_at) })
    expect(read(service, event)).toMatch(/^(event_)?past$/)
  },
)

test.each([['publishEvent'], ['cancelEvent']] as const)(
  '[N75] %s takes no body, or {}, and nothing else',
  (operation) => {
    const { account, create } = ticketing()
    for (const body of [undefined, {}]) expect(account[operation](create().id, body).status).not.toBe('draft')
    const { id } = create()
    for (const body of [null, [], 'now', 1, { now: true }]) {
      expect(thrownRefusal(() => account[operation](id, body)).code).toMatch(/^parameter_(invalid|unknown)$/)
    }
    expect(thrownRefusal(() => account[operation](id, { now: true })).message).toBe(
      'There is no parameter now: there are none here.',
    )
    expect(account.retrieveEvent(id).status).toBe('draft')
  },
)

test.each([
  ['publishEvent', 'event.published', 'on_sale'],
  ['cancelEvent', 'event.cancelled', 'cancelled'],
] as const)(
  '[S39] [S42] [N94] %s answers with the whole event, and sends it',
  async (operation, kind, status) => {
    const { account, clock, create, emitted } = ticketing()
    const { tickets: _, ...event } = create({ description_md: 'x' })
    await clock.advanceBy(1000)
    const after = account[operation](event.id)
    expect(after).toEqual({ ...event, status, updated_at: '2026-06-01T10:00:01.000Z' })
    expect(emitted).toEqual([{ kind, data: { event: after } }])
  },
)

test('[N94] [N95] [S92] webhooks match their description, kind by kind, and do not change with the event', () => {
  const { account, publish, order, emitted } = ticketing()
  const event = publish()
  order(event, 1)
  account.rescheduleEvent(event.id, { doors_at: '2026-08-01T19:00Z' })
  const told = structuredClone(emitted)
  account.updateEvent(event.id, { title: 'Another' })
  account.cancelEvent(event.id)
  expect(emitted.slice(0, 3)).toEqual(told)
  const kinds = ['event.published', 'order.created', 'event.rescheduled', 'event.cancelled']
  expect(emitted.map(({ kind }) => kind)).toEqual(kinds)
  for (const { kind, data } of emitted) expect(webhookData[kind].parse(data)).toEqual(data)
})

const START_MS = Date.parse(START)
const onSaleAt = (ms: number): { on_sale_at: string } => ({
  on_sale_at: new Date(START_MS + ms).toISOString(),
})

test('[S39] [S45] [N69] an event goes live at its on_sale_at, which an update moves, and null removes', async () => {
  const { account, clock, create, emitted } = ticketing()
  const { id } = create(onSaleAt(DAY_MS))
  account.updateEvent(id, onSaleAt(3 * DAY_MS))
  expect(clock.nextAt()).toBe(START_MS + 3 * DAY_MS)
  account.updateEvent(id, { title: 'Another' })
  expect(clock.nextAt()).toBe(START_MS + 3 * DAY_MS)
  account.updateEvent(id, { on_sale_at: null })
  expect(clock.nextAt()).toBeUndefined()
  await clock.advanceBy(4 * DAY_MS)
  expect(account.retrieveEvent(id).status).toBe('draft')
  account.updateEvent(id, onSaleAt(5 * DAY_MS))
  await clock.advanceBy(DAY_MS - 1)
  expect(emitted).toEqual([])
  await clock.advanceBy(HOUR_MS)
  const event = account.retrieveEvent(id)
  expect(event).toMatchObject({
    status: 'on_sale',
    updated_at: new Date(START_MS + 5 * DAY_MS).toISOString(),
  })
  expect(emitted).toEqual([{ kind: 'event.published', data: { event } }])
})

test('an event never has more than one timer', () => {
  const { account, clock, create } = ticketing()
  const { id } = create(onSaleAt(DAY_MS))
  for (const day of [3, 4, 5]) account.rescheduleEvent(id, { doors_at: `2026-08-0${day}T19:00Z` })
  expect(clock.nextAt()).toBe(START_MS + DAY_MS)
  account.publishEvent(id)
  for (const day of [6, 7, 8]) account.rescheduleEvent(id, { doors_at: `2026-08-0${day}T19:00Z` })
  expect(clock.nextAt()).toBe(Date.parse('2026-08-08T23:00Z'))
  account.cancelEvent(id)
  expect(clock.nextAt()).toBeUndefined()
})
