import { describe, expect, test } from 'vitest'
import type { RefusalCode } from '../../../domain/refusal.js'
import type { EventStatus } from '../../../domain/resources.js'
import { apiRefusalOf, thrownRefusal, ticketing } from '../../support/ticketing.js'

const PLAIN = {
  title: 'Another',
  description_md: '*new*',
  refund_policy: 'final',
  transferable: false,
  ends_at: '2026-07-02T01:00:00+01:00',
}
const UNTIL_IT_IS_OVER: EventStatus[] = ['draft', 'on_sale', 'sold_out']

describe('an update', () => {
  test.each(UNTIL_IT_IS_OVER)(
    '[S52] [N68] [N74] of an event that is %s changes the named fields, and sends no webhook',
    async (status) => {
      const service = ticketing()
      const { account, clock, emitted } = service
      const { id } = await service.eventIn(status)
      const before = account.retrieveEvent(id)
      await clock.advanceBy(1000)
      const image = 'https://example.com/new.jpg'
      const after = account.updateEvent(id, { ...PLAIN, image })
      expect(after).toEqual({ ...before, ...PLAIN, image_url: image, updated_at: '2026-06-01T10:00:01.000Z' })
      expect(account.retrieveEvent(id)).toEqual(after)
      expect(emitted).toEqual([])
    },
  )

  test('[N73] with {} changes nothing', () => {
    const { account, create } = ticketing()
    const { id } = create()
    const before = account.snapshot()
    expect(account.updateEvent(id, {})).toEqual(account.retrieveEvent(id))
    expect(account.snapshot()).toEqual(before)
  })

  test('[N69] [N46] [N47] [N70] of a draft also moves its doors, its venue and its tiers, which are known by their names', () => {
    const { account, create } = ticketing()
    const {
      id,
      ends_at,
      tickets: before,
    } = create({ description_md: 'x', image: 'https://example.com/a.jpg' })
    const { id: venue_id } = account.createVenue({ name: 'Barn' })
    const given = { doors_at: '2026-07-01T20:00Z', venue_id }
    const tickets = [
      { name: 'Balcony', price_cents: 1, quantity: 7 },
      { name: 'New', price_cents: 2, quantity: 1 },
    ]
    const after = account.updateEvent(id, { ...given, tickets, description_md: null, image: null })
    expect(after).toMatchObject({ ...given, ends_at, capacity: 8, description_md: null, image_url: null })
    const tiers = account.retrieveWithTickets(id).tickets
    expect(tiers).toEqual([
      { ...tickets[0], id: before[1]?.id },
      { ...tickets[1], id: expect.stringMatching(/^tkt_/) },
    ])
    expect(before.map((tier) => tier.id)).not.toContain(tiers[1]?.id)
  })

  test.each<[Record<string, unknown>, RefusalCode, string]>([
    [{ title: 'a\n' }, 'parameter_invalid', 'title'],
    [{ ends_at: null }, 'parameter_invalid', 'ends_at'],
    [{ ends_at: '2026-07-01T18:00Z' }, 'ends_at_before_doors_at', 'ends_at'],
    [{ doors_at: '2026-07-01T23:00+01:00' }, 'ends_at_before_doors_at', 'doors_at'],
    [{ on_sale_at: '2026-07-02T00:00Z' }, 'on_sale_after_end', 'on_sale_at'],
    [{ venue_id: 'ven_none' }, 'resource_missing', 'venue_id'],
    [{ venue: { name: 'Barn' } }, 'parameter_unknown', 'venue'],
  ])('with %j is refused', (given, code, param) => {
    const { account, create } = ticketing()
    const { id } = create()
    const before = account.snapshot()
    expect(apiRefusalOf(() => account.updateEvent(id, given))).toEqual([code, param])
    expect(account.snapshot()).toEqual(before)
  })

  test.each(['id', 'status', 'sold', 'image_url'])(
    '[N72] of %s, which the service sets, is refused',
    (name) => {
      const { account, create } = ticketing()
      const { code, param, message } = thrownRefusal(() => account.updateEvent(create().id, { [name]: 1 }))
      expect([code, param]).toEqual(['parameter_unknown', name])
      expect(message).toMatch(new RegExp(`^${name} cannot be given: `))
    },
  )
})

describe('an update of what is published', () => {
  test.each<[Record<string, unknown>, RefusalCode, string]>([
    [{ doors_at: '2026-08-01T19:00Z' }, 'use_reschedule', 'doors_at'],
    [{ on_sale_at: '2026-06-20T00:00Z' }, 'event_already_published', 'on_sale_at'],
    [{ on_sale_at: null }, 'event_already_published', 'on_sale_at'],
  ])('[N71] [N69] with %j is refused', async (given, code, param) => {
    for (const status of ['on_sale', 'sold_out'] as const) {
      const service = ticketing()
      const { id } = await service.eventIn(status)
      const before = service.account.snapshot()
      expect(apiRefusalOf(() => service.account.updateEvent(id, given))).toEqual([code, param])
      expect(service.account.snapshot()).toEqual(before)
    }
  })

  test('[N90] [N70] with more capacity puts it on sale again, with less sells it out', async () => {
    const service = ticketing()
    const { account, order, emitted } = service
    const event = await service.eventIn('sold_out')
    const update = (ga: number, balcony: number) => {
      const tickets = [
        { name: 'GA', price_cents: 9000, quantity: ga },
        { name: 'Balcony', price_cents: 4000, quantity: balcony },
      ]
      const { status, capacity, sold } = account.updateEvent(event.id, { tickets })
      return [status, capacity, sold]
    }
    expect(update(4, 2)).toEqual(['on_sale', 6, 5])
    expect(update(3, 2)).toEqual(['sold_out', 5, 5])
    expect(update(3, 3)).toEqual(['on_sale', 6, 5])
    expect(emitted).toEqual([])
    expect(order(event, 1, 1).order.total_cents).toBe(4000)
    expect(account.retrieveEvent(event.id).status).toBe('sold_out')
  })

  test('[N48] [N70] [N89] of a tier has a new price for later orders, and keeps its sales', () => {
    const { account, publish, order } = ticketing()
    const event = publish()
    order(event, 2)
    account.updateEvent(event.id, { tickets: [{ name: 'GA', price_cents: 1, quantity: 4 }] })
    expect(thrownRefusal(() => order(event, 3)).message).toContain('has 2 left of 4')
    order(event, 2)
    expect(account.retrieveEvent(event.id)).toMatchObject({ status: 'sold_out', sold: 4, gross_cents: 5002 })
  })

  test.each<[string, unknown, string]>([
    ['fewer than are sold', [{ name: 'GA', price_cents: 1, quantity: 1 }], 'tickets[0].quantity'],
    ['without a tier that has sales', [{ name: 'Balcony', price_cents: 1, quantity: 9 }], 'tickets'],
  ])('[N70] is refused with tickets %s', (_, tickets, param) => {
    const { account, publish, order } = ticketing()
    const event = publish()
    order(event, 2)
    const before = account.snapshot()
    const refusal = thrownRefusal(() => account.updateEvent(event.id, { tickets }))
    expect([refusal.code, refusal.param]).toEqual(['parameter_invalid', param])
    expect(refusal.message).toContain(
      'the tier "GA", of which 2 are sold: give it with a quantity of at least 2',
    )
    expect(account.snapshot()).toEqual(before)
  })
})
