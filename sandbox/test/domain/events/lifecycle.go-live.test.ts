import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, START, ticketing } from '../../support/ticketing.js'

const START_MS = Date.parse(START)
const onSaleAt = (ms: number): { on_sale_at: string } => ({
  on_sale_at: new Date(START_MS + ms).toISOString(),
})

test('[S45] [S39] an event goes live at its on_sale_at, at that very moment, and is sent once', async () => {
  const { account, clock, create, emitted } = ticketing()
  const { id } = create(onSaleAt(DAY_MS))
  expect(clock.nextAt()).toBe(START_MS + DAY_MS)
  await clock.advanceBy(DAY_MS - 1)
  expect(account.retrieveEvent(id).status).toBe('draft')
  expect(emitted).toEqual([])
  await clock.advanceBy(HOUR_MS)
  const event = account.retrieveEvent(id)
  expect(event).toMatchObject({ status: 'on_sale', updated_at: new Date(START_MS + DAY_MS).toISOString() })
  expect(emitted).toEqual([{ kind: 'event.published', data: { event } }])
})

test.each([0, -1, -DAY_MS])(
  '[N67] %d ms from now it is still a draft in the answer, and live at the next tick',
  async (ms) => {
    const { clock, create, emitted } = ticketing()
    expect(create(onSaleAt(ms)).status).toBe('draft')
    expect(emitted).toEqual([])
    await clock.idle()
    expect(emitted.map(({ kind }) => kind)).toEqual(['event.published'])
  },
)

test.each(['publishEvent', 'cancelEvent'] as const)('[N92] %s by hand takes it away', async (operation) => {
  const { account, clock, create, emitted } = ticketing()
  const { id, ends_at } = create(onSaleAt(DAY_MS))
  const { status } = account[operation](id)
  expect(clock.nextAt()).toBe(operation === 'publishEvent' ? Date.parse(ends_at) : undefined)
  await clock.advanceBy(2 * DAY_MS)
  expect(account.retrieveEvent(id).status).toBe(status)
  expect(emitted).toHaveLength(1)
})

test('[N69] an update moves it, and null takes it away', async () => {
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
  await clock.advanceBy(DAY_MS)
  expect(account.retrieveEvent(id).status).toBe('on_sale')
  expect(emitted).toHaveLength(1)
})

test('[N87] where the event is over by then, it stays a draft', async () => {
  const { account, clock, create, emitted } = ticketing()
  const past = { doors_at: '2026-05-01T19:00Z', on_sale_at: '2026-04-01T00:00Z' }
  const { id } = create(past)
  await clock.idle()
  expect(account.retrieveEvent(id).status).toBe('draft')
  expect(emitted).toEqual([])
  expect(clock.nextAt()).toBeUndefined()
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
