import { describe, expect, test } from 'vitest'
import { createdEvent, REFUND_POLICIES } from '../../../domain/resources.js'
import { PUBLIC_URL, START, ticketing } from '../../support/ticketing.js'

describe('an event that is created', () => {
  test('[S37] [S49] [S69] [S23] [S55] [N38] is a draft, with its id, its public URL and its tiers, and nothing else', () => {
    const { create, venueId } = ticketing()
    const event = create({
      title: 'Harbour Jazz',
      description_md: '**Loud**',
      image: 'https://example.com/poster.jpg',
    })
    expect(event).toEqual({
      id: expect.stringMatching(/^evt_[0-9A-Za-z]{20}$/),
      title: 'Harbour Jazz',
      slug: expect.stringMatching(/^harbour-jazz-[0-9a-z]{6}$/),
      url: `${PUBLIC_URL}/e/${event.slug}`,
      status: 'draft',
      venue_id: venueId,
      doors_at: '2026-07-01T19:00:00+01:00',
      ends_at: '2026-07-01T23:00:00+01:00',
      description_md: '**Loud**',
      image_url: 'https://example.com/poster.jpg',
      capacity: 5,
      sold: 0,
      gross_cents: 0,
      refund_policy: 'refundable_24h',
      transferable: true,
      created_at: START,
      updated_at: START,
      tickets: [
        { id: expect.stringMatching(/^tkt_[0-9A-Za-z]{20}$/), name: 'GA', price_cents: 2500, quantity: 3 },
        {
          id: expect.stringMatching(/^tkt_[0-9A-Za-z]{20}$/),
          name: 'Balcony',
          price_cents: 4000,
          quantity: 2,
        },
      ],
    })
    expect(createdEvent.parse(event)).toEqual(event)
  })

  test('[S1] [S11] [S35] belongs to the venue that was named, and has the tiers that were given', () => {
    const { account, create, venueId } = ticketing()
    const { venue_id, tickets } = create()
    expect(venue_id).toMatch(/^ven_/)
    expect(venue_id).toBe(venueId)
    expect(account.listVenues({}).data.map(({ id }) => id)).toContain(venue_id)
    expect(tickets.map(({ name }) => name)).toEqual(['GA', 'Balcony'])
  })

  test('[S6] [S27] [N31] has ids of 20 characters in base 62, which the seed decides', () => {
    const ids = (seed: number): string[] => {
      const { id, tickets } = ticketing({ seed }).create()
      return [id, ...tickets.map((tier) => tier.id)]
    }
    for (const id of ids(7)) expect(id).toMatch(/^(evt|tkt)_[0-9A-Za-z]{20}$/)
    expect(ids(7)).toEqual(ids(7))
    expect(ids(7)).not.toEqual(ids(8))
    expect(new Set(ids(7)).size).toBe(3)
  })

  test('[S51] [N38] is retrieved without its tiers', () => {
    const { account, create } = ticketing()
    const { tickets: _, ...event } = create()
    expect(account.retrieveEvent(event.id)).toEqual(event)
  })

  test('[N39] is retrieved with its tiers for the control API', () => {
    const { account, create } = ticketing()
    const event = create()
    expect(account.retrieveWithTickets(event.id)).toEqual(event)
  })

  test('[S46] stays a draft without on_sale_at, and sends no webhook', async () => {
    const { account, create, clock, emitted } = ticketing()
    const { id } = create()
    await clock.advanceTo(Date.parse('2030-01-01'))
    expect(account.retrieveEvent(id).status).toBe('draft')
    expect(emitted).toEqual([])
  })

  test.each(REFUND_POLICIES)('[S19] [S66] may have the refund policy %s', (refund_policy) => {
    expect(ticketing().create({ refund_policy }).refund_policy).toBe(refund_policy)
  })

  test.each([true, false])('[S20] [S67] may have transferable %s', (transferable) => {
    expect(ticketing().create({ transferable }).transferable).toBe(transferable)
  })

  test('[N46] has null where no description and no image were given', () => {
    expect(ticketing().create()).toMatchObject({ description_md: null, image_url: null })
  })

  test('[S16] [N47] has the sum of its tiers as its capacity', () => {
    const tickets = [1, 20, 300].map((quantity) => ({ name: `T${quantity}`, price_cents: 0, quantity }))
    expect(ticketing().create({ tickets }).capacity).toBe(321)
  })

  test('[S12] [S13] [N34] has its dates as they were sent', () => {
    const dates = { doors_at: '2026-07-01T19:00-03:30', ends_at: '2026-07-02T00:00:00.5Z' }
    expect(ticketing().create(dates)).toMatchObject(dates)
  })

  test('[S61] [N35] ends 4 hours after its doors, in the same offset, where nothing is said', () => {
    const { create } = ticketing()
    expect(create({ doors_at: '2026-12-31T22:00-05:00' }).ends_at).toBe('2027-01-01T02:00-05:00')
  })

  test('[S68] [N52] [N55] shows neither on_sale_at nor a currency', () => {
    const event = ticketing().create({ on_sale_at: '2026-06-20T12:00:00' })
    expect(JSON.stringify(event)).not.toMatch(/on_sale_at|currency/)
  })

  test('[N51] [S21] [S22] was created when it is in the sandbox', async () => {
    const { account, create, clock } = ticketing()
    await clock.advanceBy(90_000)
    const { id, created_at, updated_at } = create()
    expect([created_at, updated_at]).toEqual(['2026-06-01T10:01:30.000Z', '2026-06-01T10:01:30.000Z'])
    await clock.advanceBy(1000)
    account.updateEvent(id, { title: 'Another' })
    expect(account.retrieveEvent(id)).toMatchObject({ created_at, updated_at: '2026-06-01T10:01:31.000Z' })
  })

  test('may be in the past: its doors are whenever they are said to be', () => {
    expect(ticketing().create({ doors_at: '1999-12-31T20:00:00Z' }).status).toBe('draft')
  })
})

describe('the slug', () => {
  test.each([
    ['Harbour Jazz', 'harbour-jazz'],
    ['  Ça va? — Été 2026!  ', 'ca-va-ete-2026'],
    ['I <3 NY', 'i-3-ny'],
    ['東京の夜', 'event'],
    ['***', 'event'],
    ['ﬁlm Ⅷ', 'film-viii'],
    [`${'long '.repeat(39)}end`, `${'long-'.repeat(12).slice(0, -1)}`],
  ])('[S8] [S9] [N49] [N50] of %j begins with %s', (title, words) => {
    const { account, create } = ticketing()
    const event = create({ title })
    expect(event.slug).toBe(`${words}-${event.id.slice(4, 10).toLowerCase()}`)
    expect(event.url).toBe(`${PUBLIC_URL}/e/${event.slug}`)
    expect(account.findBySlug(event.slug)).toEqual(event)
  })

  test('[N49] stays when the title changes', () => {
    const { account, create } = ticketing()
    const { id, slug, url } = create()
    expect(account.updateEvent(id, { title: 'Another one' })).toMatchObject({ slug, url })
  })

  test('[N49] is longer where another event has it already', () => {
    const { account, create } = ticketing()
    const { id, slug } = create()
    const snapshot = JSON.stringify(account.snapshot())
    const twin = id.slice(0, 10) + [...id.slice(10)].reverse().join('')
    const other = ticketing()
    other.account.restore(JSON.parse(snapshot.replaceAll(id, twin)))
    // The same seed: the same ids are made again, of which one begins as the one that is there.
    const again = other.account.createEvent(
      other.body({ venue_id: other.account.listVenues({}).data[0]?.id }),
    )
    expect(again.slug).toBe(`harbour-jazz-${id.slice(4, 11).toLowerCase()}`)
    expect(other.account.findBySlug(slug)?.id).toBe(twin)
    expect(other.account.findBySlug(again.slug)?.id).toBe(again.id)
  })

  test('that no event has finds nothing', () => {
    expect(ticketing().account.findBySlug('harbour-jazz-000000')).toBeUndefined()
  })
})
