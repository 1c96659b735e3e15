import { describe, expect, test } from 'vitest'
import { EVENT_STATUSES } from '../../domain/resources.js'
import { DAY_MS, START, ticketing } from '../support/ticketing.js'

type Json = Record<string, unknown>
interface Snapshot extends Json {
  venues?: Json[]
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
    const orders = account.latestOrders({ limit: 100 })
    expect(other.account.latestOrders({ limit: 100 })).toEqual(orders)
    const tickets = orders.data.flatMap(({ tickets }) => tickets)
    expect(tickets.length).toBeGreaterThan(1)
    for (const { id } of tickets) {
      expect(account.findTicket(id)).toBeDefined()
      expect(other.account.findTicket(id)).toEqual(account.findTicket(id))
    }
    for (const { id, slug } of account.listEvents({}).data)
      expect(other.account.findBySlug(slug)?.id).toBe(id)
    // The number of the buyers goes on.
    const { buyer_email } = other.order(
      other.publish({ venue_id: undefined, venue: { name: 'Barn' } }),
      1,
    ).order
    expect(buyer_email).toBe(`buyer${account.counts().orders + 1}@example.com`)
  })

  test('runs the changes that fell due in the meantime at the next tick', async () => {
    const { account } = await fullAccount()
    const later = ticketing({ startMs: Date.parse('2026-06-10T00:00Z') })
    later.account.restore(copyOf(account.snapshot()))
    await later.clock.idle()
    expect(later.emitted.map(({ kind }) => kind)).toEqual(['event.published'])
  })
})

describe('an invalid snapshot is refused, and the account is unchanged: it has', () => {
  type Change = (snapshot: Snapshot) => unknown
  const its = ({ events }: Snapshot, status: string) => {
    const event = events.find((one) => one.status === status)
    if (event === undefined) throw new Error('There is no such event.')
    return event
  }
  const draft =
    (fields: Json): Change =>
    (it) =>
      Object.assign(its(it, 'draft'), fields)
  /** Replaces a field of an order, by its place. */
  const order =
    (at: number, value: unknown): Change =>
    (it) =>
      its(it, 'sold_out').orders[0]?.splice(at, 1, value)

  test.each<[string, Change, string]>([
    [
      'tickets of no order',
      (it) => Object.assign(it, { tickets: [['ord_none', [['tik_1', 'scan']]]] }),
      'the order ord_none has not 1 tickets',
    ],
    ['a venue twice', (it) => it.venues?.push({ ...it.venues[0] }), 'is there twice'],
    ['a slug twice', (it) => draft({ slug: its(it, 'on_sale').slug })(it), 'the slug'],
    ['an event without its venue', draft({ venue_id: 'ven_none' }), 'is at no venue'],
    ['an end before the doors', draft({ ends_at: '2026-01-01T00:00Z' }), 'ends before its doors'],
    [
      'a go-live of an event on sale',
      (it) => Object.assign(its(it, 'on_sale'), { on_sale_at: '2026-06-03T00:00' }),
      'would go live',
    ],
    ['an order of no tier', order(1, 'tkt_no'), 'of no tier'],
    ['more sold than there is', order(2, 4), 'more than there is'],
    ['a sale too few', (it) => its(it, 'sold_out').orders.pop(), 'has tickets left'],
    ['a draft with orders', (it) => Object.assign(its(it, 'sold_out'), { status: 'draft' }), 'has orders'],
    [
      'no tickets on sale',
      (it) => Object.assign(its(it, 'sold_out'), { status: 'on_sale' }),
      'has nothing left',
    ],
    ['too high a price', order(3, Number.MAX_SAFE_INTEGER), 'more than can be counted'],
  ])('%s', async (_, change, message) => {
    const { account, clock } = await fullAccount()
    const [before, next] = [account.snapshot(), clock.nextAt()]
    const changed = copyOf(before)
    change(changed)
    expect(() => account.restore(changed)).toThrow(message)
    expect(() => account.restore(changed)).toThrow(/^This is no snapshot of an account/)
    expect(account.snapshot()).toEqual(before)
    expect(clock.nextAt()).toBe(next)
  })

  test.each([undefined, null, [], 'text'])('nothing: %j', (value) => {
    expect(() => ticketing().account.restore(value)).toThrow('expected object')
  })
})
