import { sampleEvent } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { errorOf } from '../../support/thrown-error.js'

const seed = 1
const sample = sampleEvent('order.created', { seed }).data
const rescheduled = sampleEvent('event.rescheduled', { seed }).data as Record<string, object>

/** The data of a sample with overrides that the types may refuse, as plain JavaScript may give them. */
const orderWith = (data: unknown) => sampleEvent('order.created', { seed, data: data as object }).data
const rescheduledWith = (data: unknown) =>
  sampleEvent('event.rescheduled', { seed, data: data as object }).data

/** The message of what it throws, which must be a TypeError. */
async function refusal(call: () => unknown): Promise<string> {
  const error = await errorOf(call)
  expect(error).toBeInstanceOf(TypeError)
  return error.message
}

describe('an override', () => {
  test('takes the place of one field, and leaves all others', () => {
    expect(orderWith({ order: { total_cents: 0 } })).toEqual({
      ...sample,
      order: { ...sample.order, total_cents: 0 },
    })
    const event = { transferable: false, doors_at: '2027-01-01T20:00:00-05:00' }
    const previous = { ends_at: '2026-12-31T23:59:59Z' }
    expect(rescheduledWith({ event, previous_attributes: previous })).toEqual({
      event: { ...rescheduled.event, ...event },
      previous_attributes: { ...rescheduled.previous_attributes, ...previous },
    })
  })

  test.each([
    undefined,
    { order: undefined, tickets: undefined },
    { order: { id: undefined } },
    { tickets: Array(sample.tickets.length) },
    { tickets: sample.tickets.map(() => ({ tier: undefined })) },
  ])('of undefined keeps what the sample has: %o', (data) => {
    expect(orderWith(data)).toEqual(sample)
  })

  test('is never changed, and is no part of the event', () => {
    const given = { order: { id: 'ord_1' }, tickets: [{ tier: 'balcony' }] }
    const before = structuredClone(given)
    const data = orderWith(given)
    data.order.id = 'ord_2'
    data.tickets.length = 0
    expect(given).toEqual(before)
    expect(orderWith(given)).toMatchObject(before)
  })

  test.each([
    '{ "order": { "__proto__": { "polluted": true } } }',
    '{ "order": { "constructor": { "prototype": { "polluted": true } } } }',
    '{ "tickets": [{ "__proto__": { "polluted": true } }] }',
  ])('cannot reach a prototype: %s', async (text) => {
    expect(await refusal(() => orderWith(JSON.parse(text)))).toMatch(
      /^There is no field data\.([\w[\]]+\.)?(__proto__|constructor) in order\.created/,
    )
    expect(Object.prototype).not.toHaveProperty('polluted')
  })
})

describe('a list', () => {
  test('is given whole: it is as long as what was given, and the order costs as much', () => {
    const two = orderWith({ tickets: [{}, {}] })
    const four = orderWith({ tickets: [{}, {}, {}, {}] })
    expect([two.tickets.length, four.tickets.length]).toEqual([2, 4])
    expect(four.order.total_cents).toBe(2 * two.order.total_cents)
    expect(new Set(four.tickets.map(({ id }) => id)).size).toBe(4)
    expect(two.tickets).toEqual(four.tickets.slice(0, 2))
    expect(orderWith({ tickets: [] })).toEqual({ order: { ...sample.order, total_cents: 0 }, tickets: [] })
  })

  test('has elements that are given in part', () => {
    const [first] = sample.tickets
    expect(orderWith({ tickets: [{ tier: 'balcony' }, { id: 'tik_2' }, undefined] }).tickets).toEqual([
      { id: first?.id, tier: 'balcony' },
      { id: 'tik_2', tier: first?.tier },
      { id: first?.id.replace(/1$/, '3'), tier: first?.tier },
    ])
  })
})

const AMOUNT = 'must be a whole number, 0 or more, not'
const DATE = 'is not a date as the service writes it: it must be ISO 8601'

test.each<[data: unknown, message: string]>([
  [{ ordr: {} }, 'There is no field data.ordr in order.created. The fields are order, tickets.'],
  [{ order: { total: 1 } }, 'There is no field data.order.total in order.created. The fields are id, total'],
  [{ tickets: [{}, { teir: 'x' }] }, 'There is no field data.tickets[1].teir in order.created.'],
  [{ order: { id: 7 } }, 'data.order.id must be a string, not a number.'],
  [{ order: { total_cents: '0' } }, 'data.order.total_cents must be a number, not a string.'],
  [{ order: { total_cents: 12.5 } }, `data.order.total_cents ${AMOUNT} 12.5.`],
  [{ order: null }, 'data.order must be a plain object, not null.'],
  [{ order: new Map([['id', 'ord_1']]) }, 'data.order must be a plain object, not one of type Map.'],
  [{ tickets: {} }, 'data.tickets must be an array, not an object.'],
])('of order.created, %o is refused by the name of its field', async (data, message) => {
  const said = await refusal(() => orderWith(data))
  expect(said.startsWith(message)).toBe(true)
  expect(said).toMatch(/With exact: true the data is signed as you pass it, whatever it is\.$/)
})

test.each<[event: object, message: string]>([
  [{ transferable: 'yes' }, 'data.event.transferable must be a boolean, not a string.'],
  [{ doors_at: new Date(0) }, 'data.event.doors_at must be a string, not an object.'],
  [{ doors_at: 'yesterday' }, `${DATE} with its time zone, such as "2026-05-17T19:30:00+02:00", not "yest`],
  ...['2026-05-17', '2026-05-17T19:30:00', '2026-02-30T19:30:00Z', '2026-05-17T19:30:00+02:00\n'].map(
    (doors_at): [object, string] => [{ doors_at }, `data.event.doors_at ${DATE} with its time zone`],
  ),
  [{ created_at: '2026-05-17T19:30:00+02:00' }, `${DATE} in UTC, such as "2026-05-17T14:02:11Z", not "2026`],
  [{ updated_at: '2026-02-30T00:00:00Z' }, `data.event.updated_at ${DATE} in UTC`],
])('of an event, %o is refused by the name of its field', async (event, message) => {
  expect(await refusal(() => rescheduledWith({ event }))).toContain(message)
})

test.each(['2026-05-17T19:30Z', '2028-02-29T23:59:59.999999-11:30', '2026-12-31T00:00:00Z'])(
  'a date of %s is taken as it is written',
  (doors_at) => {
    expect(rescheduledWith({ event: { doors_at } })).toMatchObject({ event: { doors_at } })
  },
)
