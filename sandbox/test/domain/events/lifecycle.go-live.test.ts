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

test('[N69] an update moves the go-live, and null removes it', async () => {
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
