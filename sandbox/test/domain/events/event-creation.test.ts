import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import type { RefusalCode } from '../../../domain/refusal.js'
import { createdEvent, REFUND_POLICIES } from '../../../domain/resources.js'
import { apiRefusalOf, PUBLIC_URL, START, thrownRefusal, ticketing } from '../../support/ticketing.js'

const { account, body, create, emitted } = ticketing()
const tier = { name: 'GA', price_cents: 2500, quantity: 3 }
const tiers = (...differences: Record<string, unknown>[]) => ({
  tickets: differences.map((difference) => ({ ...tier, ...difference })),
})

describe('an event that is created', () => {
  test('[S1] [S11] [S12] [S13] [S16] [S21] [S22] [S23] [S37] [S49] [S55] [S61] [S68] [S69] [N34] [N35] [N38] [N39] [N47] [N51] [N52] [N55] is a draft, with its id, its public URL, its dates and its tiers, and nothing else', () => {
    const service = ticketing()
    const image = 'https://example.com/poster.jpg'
    const event = service.create({ title: 'Harbour Jazz', description_md: '**Loud**', image })
    const tierIds = expect.stringMatching(/^tkt_[0-9A-Za-z]{20}$/)
    expect(event).toEqual({
      id: expect.stringMatching(/^evt_[0-9A-Za-z]{20}$/),
      title: 'Harbour Jazz',
      slug: expect.stringMatching(/^harbour-jazz-[0-9a-z]{6}$/),
      url: `${PUBLIC_URL}/e/${event.slug}`,
      status: 'draft',
      venue_id: service.venueId,
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
    expect(service.account.retrieveWithTickets(event.id)).toEqual(event)
  })

  test('[S6] [S27] [N31] has ids that differ, which the seed decides', () => {
    const ids = (seed: number): string[] => {
      const { id, tickets } = ticketing({ seed }).create()
      return [id, ...tickets.map((one) => one.id)]
    }
    expect(ids(7)).toEqual(ids(7))
    expect(ids(7)).not.toEqual(ids(8))
    expect(new Set(ids(7)).size).toBe(3)
  })

  const names = ['ga', 'GA', 'constructor', '__proto__']
  test.each<[string, Record<string, unknown>]>([
    ...REFUND_POLICIES.map((policy): [string, Record<string, unknown>] => [
      '[S19] [S66]',
      { refund_policy: policy },
    ]),
    ['[S20] [S67]', { transferable: false }],
    ['[S64]', { description_md: 'a'.repeat(5_000) }],
    [
      '[S25] [N36]',
      tiers({ name: 'a'.repeat(100), price_cents: 0 }, { price_cents: 99_999_999, quantity: 10_000_000 }),
    ],
    ['[N37]', tiers(...names.map((name) => ({ name })))],
    ['[N56]', tiers(...Array.from({ length: 100 }, (_, index) => ({ name: `T${index}` })))],
  ])('%s has what was given: %o', (_, given) => {
    expect(create(given)).toMatchObject(given)
  })

  test.each([
    'https://example.com:8443/a/b.jpg?x=1&y=%20#top',
    'HTTPS://EXAMPLE.com/',
    'https://[::1]/x.png',
  ])('[S15] [S65] [N44] has the image %s', (image) => {
    expect(create({ image }).image_url).toBe(image)
  })

  test('[S7] [N32] [N33] has a title in which no parser of HTML opens a tag, without the blanks around it', () => {
    const unit = fc.constantFrom('<', '>', '/', '!', '?', 'b', 'Z', '3', ' ', 'é')
    fc.assert(
      fc.property(fc.string({ unit, minLength: 1, maxLength: 12 }), (text) => {
        const title = ` x${text} `
        const opensTag = [...title].some(
          (letter, index) => letter === '<' && /[a-z/!?]/i.test(title[index + 1] ?? ''),
        )
        if (opensTag) expect(apiRefusalOf(() => create({ title }))).toEqual(['title_contains_html', 'title'])
        else expect(create({ title }).title).toBe(title.trim())
      }),
      { numRuns: runs(150) },
    )
  })
})

describe('the slug', () => {
  test.each([
    ['  Ça va? — Été 2026!  ', 'ca-va-ete-2026'],
    ['東京の夜', 'event'],
    ['ﬁlm Ⅷ', 'film-viii'],
    [`${'long '.repeat(39)}end`, `${'long-'.repeat(12).slice(0, -1)}`],
  ])('[S8] [S9] [N49] [N50] of %j begins with %s, and stays when the title changes', (title, words) => {
    const event = create({ title })
    expect(event.slug).toBe(`${words}-${event.id.slice(4, 10).toLowerCase()}`)
    expect(account.findBySlug(event.slug)).toEqual(event)
    const { slug, url } = account.updateEvent(event.id, { title: 'Another one' })
    expect([slug, url]).toEqual([event.slug, `${PUBLIC_URL}/e/${event.slug}`])
  })

  test('[N49] is longer if another event has it already', () => {
    const first = ticketing()
    const { id, slug } = first.create()
    const snapshot = JSON.stringify(first.account.snapshot())
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

/** Refused with this one problem, and nothing has changed. */
function expectRefusal(differences: object, code: RefusalCode, param: string): void {
  const before = [account.snapshot(), emitted.length]
  // By its entries, so that __proto__ is one of them.
  const given = Object.fromEntries([...Object.entries(body()), ...Object.entries(differences)])
  const { message, ...refusal } = thrownRefusal(() => account.createEvent(given))
  expect([refusal.code, refusal.param, refusal.problems.length]).toEqual([code, param, 1])
  expect(message).toBe(refusal.problems[0].message)
  expect(message).toMatch(/[.?]$/)
  expect([account.snapshot(), emitted.length]).toEqual(before)
}

const HOST = 'https://example.com'

describe('an event is refused', () => {
  test.each<[string, string, unknown[]]>([
    ['[S58] [N12] [N32]', 'title', [' \n\t ', 'a'.repeat(201), 5, null]],
    ['[S13] [S60]', 'doors_at', ['2026-07-01T19:00:00', '9998-12-31T23:00:00Z']],
    ['[N12] [N34]', 'doors_at', [1782928800000, '2026-02-30T19:00:00Z']],
    ['[S68] [N12] [N52]', 'on_sale_at', ['soon', null]],
    ['[S62] [N12] [N56]', 'tickets', [[], tier, tiers(...Array(101).fill({})).tickets]],
    ['[N12] [N56]', 'description_md', [null, 'a'.repeat(5001)]],
    ['[N44]', 'image', ['poster.jpg', 'ftp://example.com/a.jpg', 'javascript:alert(1)', 'https://']],
    ['[N44]', 'image', [`${HOST}/a b.jpg`, `${HOST}/%a`, `${HOST}:70000/`]],
    ['[S66]', 'refund_policy', ['never', null]],
    ['[S67]', 'transferable', ['yes']],
  ])('%s for an invalid %s: %j', (_, param, values) => {
    for (const value of values) expectRefusal({ [param]: value }, 'parameter_invalid', param)
  })

  test.each<[string, string, unknown[]]>([
    ['[S24] [N36]', 'name', ['  ', 'a'.repeat(101)]],
    ['[S25] [N36] [N56]', 'price_cents', [-1, 10.5, '10', 1e8, Number.POSITIVE_INFINITY]],
    ['[S26] [N36] [N56]', 'quantity', [0, 1.5, 10_000_001]],
  ])('%s for an invalid %s of a tier: %j', (_, field, values) => {
    for (const value of values) {
      expectRefusal(tiers({ [field]: value }), 'parameter_invalid', `tickets[0].${field}`)
    }
  })

  test('[S58] [S60] [S62] [S63] [N11] without what is required', () => {
    for (const name of ['title', 'doors_at', 'tickets']) {
      expectRefusal({ [name]: undefined }, 'parameter_missing', name)
    }
    for (const name of ['name', 'price_cents', 'quantity']) {
      const tickets = tiers({}, { name: 'B', [name]: undefined })
      expectRefusal(tickets, 'parameter_missing', `tickets[1].${name}`)
    }
  })

  test.each(['colour', 'status', 'constructor', '__proto__'])('[N13] for the unknown field %s', (name) => {
    expectRefusal(Object.fromEntries([[name, {}]]), 'parameter_unknown', name)
  })

  test.each<[string, object, RefusalCode, string]>([
    ['[S59] [N40] without a venue', { venue_id: undefined }, 'parameter_missing', 'venue_id'],
    ['[N40] [N14] with two venues', { venue: { name: 'Yard' } }, 'parameter_conflict', 'venue'],
    ['[S59] [N16] for an unknown venue', { venue_id: 'ven_none' }, 'resource_missing', 'venue_id'],
    ['[N35] if it ends at once', { ends_at: '2026-07-01T18:00:00Z' }, 'ends_at_before_doors_at', 'ends_at'],
    ['[N52] if on sale late', { on_sale_at: '2026-07-02T00:00' }, 'on_sale_after_end', 'on_sale_at'],
    ['[N52] if on sale at its end', { on_sale_at: '2026-07-01T22:00Z' }, 'on_sale_after_end', 'on_sale_at'],
    ['[N12] for a string as a tier', { tickets: ['GA'] }, 'parameter_invalid', 'tickets[0]'],
    ['[N13] for the id of a tier', tiers({ id: 'tkt_1' }), 'parameter_unknown', 'tickets[0].id'],
    ['[N37] for one name twice', tiers({}, { name: ' GA ' }), 'duplicate_tier_name', 'tickets[1].name'],
    ['[S65] [N45] for an upload', { image: 'DATA:image/png,A' }, 'image_upload_not_shown', 'image'],
  ])('%s', (_, differences, code, param) => expectRefusal(differences, code, param))

  test.each(['a\u0000b', 'a\tb', '\u001b[2J', 'a\u007fb', 'a\u009bb', 'a\ud800b', 'a\n'])(
    '[N143] for a control character in a text: %j',
    (text) => {
      for (const [given, param] of [
        [{ title: text }, 'title'],
        [tiers({ name: text }), 'tickets[0].name'],
        [{ venue_id: undefined, venue: { name: text } }, 'venue.name'],
        [{ venue_id: undefined, venue: { name: 'Barn', city: text } }, 'venue.city'],
        ...(/\s/.test(text) ? [] : [[{ description_md: text }, 'description_md'] as const]),
      ] as const) {
        const { problems } = thrownRefusal(() => create(given))
        expect(problems).toContainEqual(expect.objectContaining({ code: 'parameter_invalid', param }))
      }
    },
  )

  test('[N15] with at most 20 problems', () => {
    const junk = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`junk${index}`, index]))
    expect(thrownRefusal(() => create(junk)).problems).toHaveLength(20)
    expect(thrownRefusal(() => create({ tickets: Array(100).fill(1), ...junk })).problems).toHaveLength(20)
  })

  test('with no more than 60 characters of anything', () => {
    const long = 'x'.repeat(100_000)
    const given = { doors_at: long, refund_policy: long, image: long.slice(0, 1999), [long]: 1 }
    const { problems } = thrownRefusal(() => account.createEvent({ ...body(), ...given }))
    expect(problems).toHaveLength(4)
    for (const { message, param } of problems) {
      expect(message.length).toBeLessThan(400)
      expect(param?.length).toBeLessThan(61)
    }
  })
})
