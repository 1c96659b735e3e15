import { createSandbox, type Fixtures, type Sandbox } from 'tix-webhooks-sandbox'
import { beforeEach, describe, expect, test } from 'vitest'

let sandbox: Sandbox

beforeEach(() => {
  sandbox = createSandbox({ startAt: '2026-11-20T12:00:00Z', deliver: () => new Response() })
})

const event = (more: object = {}) => ({
  title: 'Harbour Jazz',
  doors_at: '2027-05-17T19:30:00+02:00',
  tickets: [
    { name: 'GA', price_cents: 2700, quantity: 10 },
    { name: 'balcony', price_cents: 3900, quantity: 2 },
  ],
  ...more,
})

describe('fixtures', () => {
  test('fill the account with events in their states, and orders, without a webhook', async () => {
    const seats = [
      { tier: 'GA', quantity: 10 },
      { tier: 'balcony', quantity: 2 },
    ]
    const filled = sandbox.fill({
      venues: [{ name: 'The Old Customs House' }],
      events: [
        event({ title: 'Draft' }),
        event({ title: 'Cancelled', status: 'cancelled', orders: [{ tier: 'balcony', quantity: 1 }] }),
        event({ title: 'Sold out', status: 'on_sale', orders: seats }),
      ],
    })
    expect(filled).toEqual({ venues: 1, events: 3, orders: 3 })
    const events = sandbox.account.listEvents().data
    expect(events).toMatchObject([
      { title: 'Sold out', status: 'sold_out', sold: 12 },
      { title: 'Cancelled', status: 'cancelled', sold: 1 },
      { title: 'Draft', status: 'draft', sold: 0 },
    ])
    await sandbox.settled()
    expect(sandbox.deliveries.list()).toEqual([])
    // Later messages are sent as usual.
    sandbox.account.cancelEvent(events[0]?.id ?? '')
    expect(sandbox.deliveries.list()).toHaveLength(1)
  })

  test('may be for the account of live keys', () => {
    sandbox.fill({ account: 'live', events: [event()] })
    expect(sandbox.account.listEvents().data).toEqual([])
  })

  const selling = (tier: string, quantity: number) =>
    event({ status: 'on_sale', orders: [{ tier, quantity }] })

  test.each<[string, unknown, RegExp]>([
    ['an unknown account', { account: 'prod' }, /account: /],
    ['an invalid event', { events: [event(), event({ title: '<b>' })] }, /^events\[1\]: .*HTML/i],
    ['a status that only time sets', { events: [event({ status: 'past' })] }, /events\[0\]\.status/],
    [
      'orders of a draft',
      { events: [event({ orders: [{ tier: 'GA', quantity: 1 }] })] },
      /events\[0\]\.orders: orders need/,
    ],
    [
      'orders of an unknown tier',
      { events: [selling('VIP', 1)] },
      /^events\[0\]\.orders\[0\]: The event has no tier "VIP": it has GA, balcony\.$/,
    ],
    ['too many orders', { events: [event(), selling('balcony', 3)] }, /^events\[1\]\.orders\[0\]: /],
  ])('with %s are refused as a whole, and the refusal names the place', (_, fixtures, message) => {
    const before = sandbox.account.listVenues()
    expect(() => sandbox.fill(fixtures as Fixtures)).toThrow(message)
    expect(sandbox.account.listEvents().data).toEqual([])
    expect(sandbox.account.listVenues()).toEqual(before)
  })
})
