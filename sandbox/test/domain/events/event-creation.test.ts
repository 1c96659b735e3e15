import { describe, expect, test } from 'vitest'
import { createdEvent, REFUND_POLICIES } from '../../../domain/resources.js'
import { PUBLIC_URL, START, ticketing } from '../../support/ticketing.js'

describe('an event that is created', () => {
  test('[S1] [S11] [S12] [S13] [S16] [S21] [S22] [S23] [S37] [S49] [S55] [S61] [S68] [S69] [N34] [N35] [N38] [N47] [N51] [N52] [N55] is a draft, with its id, its public URL, its dates and its tiers, and nothing else', () => {
    const { create, venueId } = ticketing()
    const image = 'https://example.com/poster.jpg'
    const event = create({ title: 'Harbour Jazz', description_md: '**Loud**', image })
    const tierIds = expect.stringMatching(/^tkt_[0-9A-Za-z]{20}$/)
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
      image_url: image,
      capacity: 5,
      sold: 0,
      gross_cents: 0,
      refund_policy: 'refundable_24h',
      transferable: true,
      created_at: START,
      updated_at: START,
      tickets: [
        { id: tierIds, name: 'GA', price_cents: 2500, quantity: 3 },
        { id: tierIds, name: 'Balcony', price_cents: 4000, quantity: 2 },
      ],
    })
    expect(createdEvent.parse(event)).toEqual(event)
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

  test('[N39] [N46] has null without a description and an image, and is retrieved with its tiers', () => {
    const { account, create } = ticketing()
    const event = create()
    expect(event).toMatchObject({ description_md: null, image_url: null })
    expect(account.retrieveWithTickets(event.id)).toEqual(event)
  })

  test.each(REFUND_POLICIES)('[S19] [S66] may have the refund policy %s', (refund_policy) => {
    expect(ticketing().create({ refund_policy }).refund_policy).toBe(refund_policy)
  })

  test.each([true, false])('[S20] [S67] may have transferable %s', (transferable) => {
    expect(ticketing().create({ transferable }).transferable).toBe(transferable)
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

  test('[N49] is longer if another event has it already', () => {
    const { account, create } = ticketing()
    const { id, slug } = create()
    const snapshot = JSON.stringify(account.snapshot())
    const twin = id.slice(0, 10) + [...id.slice(10)].reverse().join('')
    const other = ticketing()
    other.account.restore(JSON.parse(snapshot.replaceAll(id, twin)))
    // The same seed: the same ids are made again, of which one begins as the one that is there.
    const [venue] = other.account.listVenues({}).data
    const again = other.account.createEvent(other.body({ venue_id: venue?.id }))
    expect(again.slug).toBe(`harbour-jazz-${id.slice(4, 11).toLowerCase()}`)
    expect(other.account.findBySlug(slug)?.id).toBe(twin)
    expect(other.account.findBySlug(again.slug)?.id).toBe(again.id)
  })
})
