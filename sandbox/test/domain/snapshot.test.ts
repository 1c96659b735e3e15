import { describe, expect, test } from 'vitest'
import { EVENT_STATUSES } from '../../domain/resources.js'
import { DAY_MS, START, ticketing } from '../support/ticketing.js'

type Json = Record<string, unknown>
interface Snapshot extends Json {
  venues: Json[]
  events: (Json & { tickets: Json[]; orders: unknown[][] })[]
}

const copyOf = (value: unknown): Snapshot => JSON.parse(JSON.stringify(value))

/** An account with an event in each state, orders, and a go-live that is due in a day. */
async function fullAccount() {
  const service = ticketing()
  for (const status of EVENT_STATUSES) {
    if (status !== 'past') await service.eventIn(status)
  }
  service.order(service.publish({ title: 'Half sold' }), 2)
  service.publish({ doors_at: '2026-06-01T12:00Z', title: 'Past' })
  service.create({ on_sale_at: '2026-06-03T00:00', description_md: 'x', image: 'https://example.com/a.jpg' })
  service.account.createVenue({ name: 'Barn' })
  await service.clock.advanceBy(DAY_MS)
  return service
}

describe('a snapshot', () => {
  test('is plain JSON, and restored it is the same account', async () => {
    const { account } = await fullAccount()
    const snapshot = account.snapshot()
    expect(copyOf(snapshot)).toEqual(snapshot)
    const other = ticketing({ seed: 2, startMs: Date.parse(START) + DAY_MS })
    other.account.restore(copyOf(snapshot))
    expect(other.account.snapshot()).toEqual(snapshot)
    expect(other.account.counts()).toEqual(account.counts())
    expect(other.account.listEvents({ limit: '100' })).toEqual(account.listEvents({ limit: '100' }))
    expect(other.account.listVenues({})).toEqual(account.listVenues({}))
    const orders = account.latestOrders({ limit: 100 })
    expect(orders.data.flatMap(({ tickets }) => tickets).length).toBeGreaterThan(1)
    expect(other.account.latestOrders({ limit: 100 })).toEqual(orders)
    for (const { id } of orders.data.flatMap(({ tickets }) => tickets)) {
      expect(other.account.findTicket(id)).toEqual(account.findTicket(id))
      expect(account.findTicket(id)).toBeDefined()
    }
    for (const { id, slug } of account.listEvents({}).data) {
      expect(other.account.retrieveWithTickets(id)).toEqual(account.retrieveWithTickets(id))
      expect(other.account.findBySlug(slug)?.id).toBe(id)
    }
  })

  test('[N88] [S45] has future changes due again, and once', async () => {
    const { account, clock, emitted } = await fullAccount()
    emitted.length = 0
    account.restore(copyOf(account.snapshot()))
    const goLive = account.listEvents({ limit: '1' }).data[0]
    expect(clock.nextAt()).toBe(Date.parse('2026-06-03T00:00Z'))
    await clock.advanceTo(Date.parse('2026-06-03T00:00Z'))
    expect(emitted.map(({ kind, data }) => [kind, 'event' in data && data.event.id])).toEqual([
      ['event.published', goLive?.id],
    ])
    await clock.advanceTo(Date.parse('2026-07-02T00:00Z'))
    expect(account.listEvents({ status: 'past' }).data).toHaveLength(5)
    expect(account.listEvents({ status: 'on_sale' }).data).toEqual([])
    expect(emitted).toHaveLength(1)
  })

  test('runs the changes that fell due in the meantime at the next tick', async () => {
    const { account } = await fullAccount()
    const later = ticketing({ startMs: Date.parse('2026-06-10T00:00Z') })
    later.account.restore(copyOf(account.snapshot()))
    await later.clock.idle()
    expect(later.emitted.map(({ kind }) => kind)).toEqual(['event.published'])
  })

  test('goes on with the numbers of the buyers', async () => {
    const { account, publish, order } = await fullAccount()
    const { orders } = account.counts()
    account.restore(copyOf(account.snapshot()))
    expect(order(publish(), 1).order.buyer_email).toBe(`buyer${orders + 1}@example.com`)
  })

  test('remembers what is sold, so that no tier is sold twice', async () => {
    const { account } = await fullAccount()
    account.restore(copyOf(account.snapshot()))
    const half = account.listEvents({ status: 'on_sale' }).data.find(({ title }) => title === 'Half sold')
    const event = account.retrieveWithTickets(half?.id ?? '')
    const order = (quantity: number) =>
      account.createOrder({ event_id: event.id, ticket_tier_id: event.tickets[0]?.id, quantity })
    expect(() => order(2)).toThrow('has 1 left of 3')
    expect(order(1).tickets).toHaveLength(1)
  })
})

describe('what is no snapshot', () => {
  const refuses = async (change: (snapshot: Snapshot) => unknown, says: string): Promise<void> => {
    const { account, clock } = await fullAccount()
    const before = account.snapshot()
    const next = clock.nextAt()
    const changed = change(copyOf(before))
    expect(() => account.restore(changed)).toThrow(says)
    expect(() => account.restore(changed)).toThrow(/^This is no snapshot of an account/)
    expect(account.snapshot()).toEqual(before)
    expect(clock.nextAt()).toBe(next)
  }

  test.each<[string, (snapshot: Snapshot) => unknown, string]>([
    ['nothing', () => undefined, 'expected object'],
    ['null', () => null, 'expected object'],
    ['a list', () => [], 'expected object'],
    ['an object', () => ({}), 'version'],
    ['another version', (whole) => ({ ...whole, version: 2 }), 'version'],
    ['one with more', (whole) => ({ ...whole, colour: 'red' }), 'colour'],
    ['one without venues', (whole) => ({ ...whole, venues: undefined }), 'venues'],
  ])('is refused, and the account is unchanged: %s', (_, change, says) => refuses(change, says))

  const the = ({ events }: Snapshot, status: string) => {
    const event = events.find((one) => one.status === status)
    if (event === undefined) throw new Error('There is no such event.')
    return event
  }

  test.each<[string, (snapshot: Snapshot) => unknown, string]>([
    [
      'tickets of no order',
      (it) => Object.assign(it, { tickets: [['ord_none', [['tik_1', 'scan']]]] }),
      'the order ord_none has not 1 tickets',
    ],
    ['a venue twice', (it) => it.venues.push({ ...it.venues[0] }), 'is there twice'],
    ['an event twice', (it) => it.events.push({ ...the(it, 'draft') }), 'is there twice'],
    ['a slug twice', (it) => Object.assign(the(it, 'draft'), { slug: the(it, 'on_sale').slug }), 'the slug'],
    ['no venue', (it) => Object.assign(the(it, 'draft'), { venue_id: 'ven_none' }), 'is at no venue'],
    ['another status', (it) => Object.assign(the(it, 'draft'), { status: 'open' }), 'status'],
    ['no tiers', (it) => Object.assign(the(it, 'draft'), { tickets: [] }), 'tickets'],
    [
      'a day that there is not',
      (it) => Object.assign(the(it, 'draft'), { doors_at: '2026-02-30T19:00Z' }),
      'a day that there is not',
    ],
    [
      'an end before the doors',
      (it) => Object.assign(the(it, 'draft'), { ends_at: '2026-01-01T00:00Z' }),
      'ends before its doors',
    ],
    ['no moment', (it) => Object.assign(the(it, 'draft'), { on_sale_at: 'x' }), 'must be ISO 8601'],
    [
      'a go-live of what is live',
      (it) => Object.assign(the(it, 'on_sale'), { on_sale_at: '2026-06-03T00:00' }),
      'would go live',
    ],
    ['an order of no tier', (it) => the(it, 'sold_out').orders[0]?.splice(1, 1, 'tkt_no'), 'of no tier'],
    ['half an order', (it) => the(it, 'sold_out').orders[0]?.pop(), 'orders'],
    ['too much sold', (it) => the(it, 'sold_out').orders[0]?.splice(2, 1, 4), 'more than there is'],
    ['a sale that is not there', (it) => the(it, 'sold_out').orders.pop(), 'has tickets left'],
    ['a draft with orders', (it) => Object.assign(the(it, 'sold_out'), { status: 'draft' }), 'has orders'],
    ['nothing left', (it) => Object.assign(the(it, 'sold_out'), { status: 'on_sale' }), 'has nothing left'],
    [
      'more than can be counted',
      (it) => the(it, 'sold_out').orders[0]?.splice(3, 1, Number.MAX_SAFE_INTEGER),
      'more than can be counted',
    ],
    ['a later number', (it) => the(it, 'sold_out').orders[0]?.splice(4, 1, 99), 'an order 99 of 3'],
  ])('is refused, and the account is unchanged: one that has %s', (_, change, says) =>
    refuses((snapshot) => {
      change(snapshot)
      return snapshot
    }, says),
  )
})
