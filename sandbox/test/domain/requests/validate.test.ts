import { expect, test } from 'vitest'
import { apiRefusalOf, ticketing } from '../../support/ticketing.js'

const lenient = ticketing({ lenient: true })

test('[N27] a lenient account leaves out unknown fields, at any depth', () => {
  const given = lenient.body({
    colour: 'red',
    status: 'on_sale',
    tickets: [{ name: 'GA', price_cents: 1, quantity: 1, size: 3 }],
  })
  const copy = structuredClone(given)
  const event = lenient.account.createEvent(given)
  expect(event).toMatchObject({ status: 'draft', capacity: 1 })
  expect(JSON.stringify(event)).not.toMatch(/colour|size/)
  expect(given).toEqual(copy)
})

test('[N27] a lenient account accepts unknown fields in every body and query', () => {
  const { account, order } = lenient
  const event = lenient.create({ venue_id: undefined, venue: { name: 'Yard', wheelchair: true } })
  expect(account.updateEvent(event.id, { sold: 3 })).toMatchObject({ sold: 0 })
  expect(account.publishEvent(event.id, { now: true }).status).toBe('on_sale')
  const doors_at = '2026-09-01T19:00Z'
  expect(account.rescheduleEvent(event.id, { doors_at, why: 'rain' }).doors_at).toBe(doors_at)
  expect(order(event, 1).tickets).toHaveLength(1)
  expect(account.listEvents({ sort: 'title', limit: '1' }).data).toHaveLength(1)
  expect(account.listVenues({ q: ['a', 'b'] }).data.length).toBeGreaterThan(2)
  expect(account.createVenue({ name: 'Barn', doors: 2 })).not.toHaveProperty('doors')
  expect(account.cancelEvent(event.id, { reason: 'rain' }).status).toBe('cancelled')
})

test('[N27] a lenient account refuses all other invalid requests', () => {
  const refusal = apiRefusalOf(() => lenient.create({ colour: 1, title: 7, tickets: [{ size: 1 }] }))
  expect(refusal).toEqual(['parameter_invalid', 'title'])
})
