import { type PreviousDates, type SampleDataByKind, sampleEvent } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { errorOf } from '../../support/thrown-error.js'

const seed = 1
const sample = sampleEvent('order.created', { seed }).data
const rescheduled = sampleEvent('event.rescheduled', { seed }).data

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
    const { event, previous_attributes } = rescheduled as unknown as {
      event: SampleDataByKind['event.published']['event']
      previous_attributes: PreviousDates
    }
    expect(
      rescheduledWith({
        event: { transferable: false, doors_at: '2027-01-01T20:00:00-05:00' },
        previous_attributes: { ends_at: '2026-12-31T23:59:59Z' },
      }),
    ).toEqual({
      event: { ...event, transferable: false, doors_at: '2027-01-01T20:00:00-05:00' },
      previous_attributes: { ...previous_attributes, ends_at: '2026-12-31T23:59:59Z' },
    })
  })

  test('of undefined keeps what the sample has, at every depth', () => {
    expect(orderWith(undefined)).toEqual(sample)
    expect(orderWith({ order: undefined, tickets: undefined })).toEqual(sample)
    expect(orderWith({ order: { id: undefined } })).toEqual(sample)
    expect(orderWith({ tickets: Array(sample.tickets.length) })).toEqual(sample)
    expect(orderWith({ tickets: sample.tickets.map(() => ({ tier: undefined })) })).toEqual(sample)
  })

  test('may be frozen, have no prototype, or be an instance of a class', () => {
    class Order {
      readonly id = 'ord_1'
    }
    const bare = Object.assign(Object.create(null), { order: Object.freeze({ id: 'ord_1' }) })
    expect(orderWith(Object.freeze(bare)).order.id).toBe('ord_1')
    expect(orderWith({ order: new Order() }).order).toEqual({ ...sample.order, id: 'ord_1' })
  })
})

describe('a list', () => {
  test('is given whole: it is as long as what was given, and the order costs as much', () => {
    const two = sampleEvent('order.created', { seed, data: { tickets: [{}, {}] } }).data
    const four = sampleEvent('order.created', { seed, data: { tickets: [{}, {}, {}, {}] } }).data
    expect([two.tickets.length, four.tickets.length]).toEqual([2, 4])
    expect(four.order.total_cents).toBe(2 * two.order.total_cents)
    expect(new Set(four.tickets.map(({ id }) => id)).size).toBe(4)
    expect(two.tickets).toEqual(four.tickets.slice(0, 2))
    expect(orderWith({ tickets: [] })).toEqual({ order: { ...sample.order, total_cents: 0 }, tickets: [] })
  })

  test('has elements that are given in part', () => {
    const { tickets } = orderWith({ tickets: [{ tier: 'balcony' }, { id: 'tik_2' }, undefined] })
    expect(tickets.map(({ tier }) => tier)).toEqual([
      'balcony',
      sample.tickets[0]?.tier,
      sample.tickets[0]?.tier,
    ])
    expect(tickets.map(({ id }) => id)).toEqual([
      sample.tickets[0]?.id,
      'tik_2',
      sample.tickets[0]?.id.replace(/1$/, '3'),
    ])
  })
})

describe('what was given', () => {
  test('is never changed, and is no part of the event', () => {
    const given = { order: { id: 'ord_1' }, tickets: [{ tier: 'balcony' }] }
    const before = structuredClone(given)
    const data = orderWith(given)
    expect(given).toEqual(before)
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

const AMOUNT = 'must be a whole number, 0 or more, not'
const DATE = 'is not a date as the service writes it: it must be ISO 8601'

test.each<[data: unknown, message: string]>([
  [{ ordr: {} }, 'There is no field data.ordr in order.created. The fields are order, tickets.'],
  [
    { order: { total: 1 } },
    'There is no field data.order.total in order.created. The fields are id, total_cents, buyer_email.',
  ],
  [
    { tickets: [{}, { teir: 'x' }] },
    'There is no field data.tickets[1].teir in order.created. The fields are id, tier.',
  ],
  [{ order: { id: 7 } }, 'data.order.id must be a string, not a number.'],
  [{ order: { total_cents: '0' } }, 'data.order.total_cents must be a number, not a string.'],
  [{ order: { total_cents: -1 } }, `data.order.total_cents ${AMOUNT} -1.`],
  [{ order: { total_cents: 12.5 } }, `data.order.total_cents ${AMOUNT} 12.5.`],
  [{ order: { total_cents: 2 ** 53 } }, `data.order.total_cents ${AMOUNT} 9007199254740992.`],
  [{ order: null }, 'data.order must be a plain object, not null.'],
  [{ order: new Map([['id', 'ord_1']]) }, 'data.order must be a plain object, not one of type Map.'],
  [{ order: Promise.resolve({}) }, 'data.order must be a plain object, not a promise.'],
  [{ tickets: {} }, 'data.tickets must be an array, not an object.'],
  [{ tickets: new Set([{}]) }, 'data.tickets must be an array, not an object.'],
  [{ tickets: [{}, null] }, 'data.tickets[1] must be a plain object, not null.'],
])('of order.created, %o is refused by the name of its field', async (data, message) => {
  const said = await refusal(() => orderWith(data))
  expect(said.startsWith(message)).toBe(true)
  expect(said).toMatch(/With exact: true the data is signed as you pass it, whatever it is\.$/)
})

test.each<[data: unknown, message: string]>([
  [null, 'data must be a plain object, not null.'],
  ['order', 'data must be a plain object, not a string.'],
  [Promise.resolve({}), 'data must be a plain object, not a promise.'],
])('%o is refused as the data, without an advice that would not help', async (data, message) => {
  expect(await refusal(() => orderWith(data))).toBe(message)
})

test.each<[event: object, message: string]>([
  [{ name: 'x' }, 'There is no field data.event.name in event.rescheduled. The fields are id, title, slug,'],
  [{ capacity: -1 }, `data.event.capacity ${AMOUNT} -1.`],
  [{ transferable: 'yes' }, 'data.event.transferable must be a boolean, not a string.'],
  [{ doors_at: new Date(0) }, 'data.event.doors_at must be a string, not an object.'],
  [
    { doors_at: 'yesterday' },
    `data.event.doors_at ${DATE} with its time zone, such as "2026-05-17T19:30:00+02:00", not "yesterday".`,
  ],
  [{ doors_at: '2026-05-17' }, `data.event.doors_at ${DATE} with its time zone`],
  [{ doors_at: '2026-05-17T19:30:00' }, `data.event.doors_at ${DATE} with its time zone`],
  [{ doors_at: '2026-02-30T19:30:00Z' }, `data.event.doors_at ${DATE} with its time zone`],
  [{ doors_at: '2026-05-17T19:30:00+02:00\n' }, `data.event.doors_at ${DATE} with its time zone`],
  [{ doors_at: '2026-05-17T19:30:00Z (evening)' }, `data.event.doors_at ${DATE} with its time zone`],
  [{ doors_at: '+012026-05-17T19:30:00Z' }, `data.event.doors_at ${DATE} with its time zone`],
  [
    { created_at: '2026-05-17T19:30:00+02:00' },
    `data.event.created_at ${DATE} in UTC, such as "2026-05-17T14:02:11Z", not "2026-05-17T19:30:00+02:00".`,
  ],
  [{ updated_at: '2026-02-30T00:00:00Z' }, `data.event.updated_at ${DATE} in UTC`],
])('of an event, %o is refused by the name of its field', async (event, message) => {
  expect(await refusal(() => rescheduledWith({ event }))).toContain(message)
})

test.each([
  '2026-05-17T19:30:00+02:00',
  '2026-05-17T19:30Z',
  '2028-02-29T23:59:59.999999-11:30',
  '2026-12-31T00:00:00Z',
])('a date of %s is taken as it is written', (doors_at) => {
  expect(rescheduledWith({ event: { doors_at } })).toMatchObject({ event: { doors_at } })
})
