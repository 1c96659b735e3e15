import { expect, test } from 'vitest'
import { webhookData } from '../../../domain/resources.js'
import { thrownRefusal, ticketing } from '../../support/ticketing.js'

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

test('[N94] [N95] [S92] webhooks match their description, kind by kind', () => {
  const { account, publish, order, emitted } = ticketing()
  const event = publish()
  order(event, 1)
  account.rescheduleEvent(event.id, { doors_at: '2026-08-01T19:00Z' })
  account.cancelEvent(event.id)
  const kinds = ['event.published', 'order.created', 'event.rescheduled', 'event.cancelled']
  expect(emitted.map(({ kind }) => kind)).toEqual(kinds)
  for (const { kind, data } of emitted) expect(webhookData[kind].parse(data)).toEqual(data)
})

test('a webhook that was sent does not change with the event', () => {
  const { account, create, emitted } = ticketing()
  const { id } = create()
  account.publishEvent(id)
  account.rescheduleEvent(id, { doors_at: '2026-08-01T19:00Z' })
  const told = structuredClone(emitted)
  account.updateEvent(id, { title: 'Another' })
  account.cancelEvent(id)
  expect(emitted.slice(0, 2)).toEqual(told)
})
