import { describe, expect, test } from 'vitest'
import type { RefusalCode } from '../../../domain/refusal.js'
import { apiRefusalOf, thrownRefusal, ticketing } from '../../support/ticketing.js'

const { account, body, create, emitted } = ticketing()
const tier = { name: 'GA', price_cents: 2500, quantity: 3 }
const tiers = (...differences: Record<string, unknown>[]) => ({
  tickets: differences.map((difference) => ({ ...tier, ...difference })),
})

describe('create refuses', () => {
  test.each(['title', 'doors_at', 'tickets'])('[S58] [S60] [S62] [N11] a body without %s', (name) => {
    expect(apiRefusalOf(() => create({ [name]: undefined }))).toEqual(['parameter_missing', name])
  })

  test.each(['name', 'price_cents', 'quantity'])('[S63] [N11] a tier without %s', (name) => {
    const refusal = apiRefusalOf(() => create(tiers({}, { name: 'B', [name]: undefined })))
    expect(refusal).toEqual(['parameter_missing', `tickets[1].${name}`])
  })

  test.each([
    'a\u0000b',
    'a\u0007b',
    'a\nb',
    'a\tb',
    'a\u001b[2Jb',
    'a\u007fb',
    'a\u009bb',
    'a\ud800b',
    'a\n',
    '\ta',
  ])('[N143] a control character in a text: %j', (text) => {
    for (const [given, param] of [
      [{ title: text }, 'title'],
      [tiers({ name: text }), 'tickets[0].name'],
      [{ venue_id: undefined, venue: { name: text } }, 'venue.name'],
      [{ venue_id: undefined, venue: { name: 'Yard', city: text } }, 'venue.city'],
      ...(/\s/.test(text) ? [] : [[{ description_md: text }, 'description_md'] as const]),
    ] as const) {
      expect(apiRefusalOf(() => create(given))).toEqual(['parameter_invalid', param])
    }
  })

  test.each<[string, unknown, RefusalCode, string]>([
    ['[S58] [N32] an empty title', { title: '' }, 'parameter_invalid', 'title'],
    ['[N32] a title of blanks', { title: ' \n\t ' }, 'parameter_invalid', 'title'],
    ['[N32] a title of 201 characters', { title: 'a'.repeat(201) }, 'parameter_invalid', 'title'],
    ['[N12] a title that is a number', { title: 5 }, 'parameter_invalid', 'title'],
    ['[N12] a title that is null', { title: null }, 'parameter_invalid', 'title'],
    ['[S7] [S58] [N33] HTML in a title', { title: 'a <b>bold</b> one' }, 'title_contains_html', 'title'],
    ['[N33] an end tag in a title', { title: 'a</b' }, 'title_contains_html', 'title'],
    ['[N33] a comment in a title', { title: '<!-- a -->' }, 'title_contains_html', 'title'],
    ['[N33] an instruction in a title', { title: 'a <?xml' }, 'title_contains_html', 'title'],
    ['[S59] [N40] neither venue_id nor venue', { venue_id: undefined }, 'parameter_missing', 'venue_id'],
    ['[N40] [N14] both', { venue: { name: 'Yard' } }, 'parameter_conflict', 'venue'],
    ['[S59] [N16] a venue that is not there', { venue_id: 'ven_none' }, 'resource_missing', 'venue_id'],
    ['[N16] the id of something else', { venue_id: 'evt_none' }, 'resource_missing', 'venue_id'],
    ['[N12] a venue_id that is a number', { venue_id: 7 }, 'parameter_invalid', 'venue_id'],
    ['[S60] doors without an offset', { doors_at: '2026-07-01T19:00:00' }, 'parameter_invalid', 'doors_at'],
    ['[N34] doors on 30 February', { doors_at: '2026-02-30T19:00:00Z' }, 'parameter_invalid', 'doors_at'],
    ['[N12] doors as a number', { doors_at: 1782928800000 }, 'parameter_invalid', 'doors_at'],
    [
      'doors so late that there is no end',
      { doors_at: '9998-12-31T23:00:00Z' },
      'parameter_invalid',
      'doors_at',
    ],
    ['[S13] an end without an offset', { ends_at: '2026-07-01T23:00' }, 'parameter_invalid', 'ends_at'],
    [
      '[N35] an end before the doors',
      { ends_at: '2026-07-01T18:59:59+01:00' },
      'ends_at_before_doors_at',
      'ends_at',
    ],
    ['[N35] an end at the doors', { ends_at: '2026-07-01T18:00:00Z' }, 'ends_at_before_doors_at', 'ends_at'],
    ['[S68] [N52] a go-live that is no moment', { on_sale_at: 'soon' }, 'parameter_invalid', 'on_sale_at'],
    ['[N52] a go-live after the end', { on_sale_at: '2026-07-02T00:00' }, 'on_sale_after_end', 'on_sale_at'],
    ['[N52] a go-live at the end', { on_sale_at: '2026-07-01T22:00:00Z' }, 'on_sale_after_end', 'on_sale_at'],
    ['[N12] a go-live that is null', { on_sale_at: null }, 'parameter_invalid', 'on_sale_at'],
    ['[S62] no tier', { tickets: [] }, 'parameter_invalid', 'tickets'],
    ['[N12] a tier alone', { tickets: tier }, 'parameter_invalid', 'tickets'],
    ['[N12] a tier that is a string', { tickets: ['GA'] }, 'parameter_invalid', 'tickets[0]'],
    ['[S24] [N36] a tier without letters', tiers({ name: '  ' }), 'parameter_invalid', 'tickets[0].name'],
    ['[N36] a name of 101', tiers({ name: 'a'.repeat(101) }), 'parameter_invalid', 'tickets[0].name'],
    [
      '[S25] [N36] a price below 0',
      tiers({ price_cents: -1 }),
      'parameter_invalid',
      'tickets[0].price_cents',
    ],
    [
      '[S25] [N36] a price in parts',
      tiers({ price_cents: 10.5 }),
      'parameter_invalid',
      'tickets[0].price_cents',
    ],
    [
      '[N36] a price as a string',
      tiers({ price_cents: '10' }),
      'parameter_invalid',
      'tickets[0].price_cents',
    ],
    [
      '[N36] [N56] a price of 100000000',
      tiers({ price_cents: 1e8 }),
      'parameter_invalid',
      'tickets[0].price_cents',
    ],
    [
      'a price without end',
      tiers({ price_cents: Number.POSITIVE_INFINITY }),
      'parameter_invalid',
      'tickets[0].price_cents',
    ],
    ['[N36] no tickets of a tier', tiers({ quantity: 0 }), 'parameter_invalid', 'tickets[0].quantity'],
    ['[S26] [N36] half a ticket', tiers({ quantity: 1.5 }), 'parameter_invalid', 'tickets[0].quantity'],
    ['[N56] 10000001 tickets', tiers({ quantity: 10_000_001 }), 'parameter_invalid', 'tickets[0].quantity'],
    ['[N13] a tier with an id', tiers({ id: 'tkt_1' }), 'parameter_unknown', 'tickets[0].id'],
    ['[N37] two tiers of one name', tiers({}, { name: 'B' }, {}), 'duplicate_tier_name', 'tickets[2].name'],
    [
      '[N37] and blanks make no difference',
      tiers({}, { name: ' GA ' }),
      'duplicate_tier_name',
      'tickets[1].name',
    ],
    ['[N12] a description that is null', { description_md: null }, 'parameter_invalid', 'description_md'],
    [
      '[N56] a description of 5001',
      { description_md: 'a'.repeat(5_001) },
      'parameter_invalid',
      'description_md',
    ],
    ['[S65] [N45] an upload', { image: 'data:image/png;base64,AAAA' }, 'image_upload_not_shown', 'image'],
    ['[N45] an upload in capitals', { image: 'DATA:,x' }, 'image_upload_not_shown', 'image'],
    ['[N44] an image that is no URL', { image: 'poster.jpg' }, 'parameter_invalid', 'image'],
    ['[N44] an image by ftp', { image: 'ftp://example.com/a.jpg' }, 'parameter_invalid', 'image'],
    ['[N44] an image that runs', { image: 'javascript:alert(1)' }, 'parameter_invalid', 'image'],
    ['[N44] an image without a host', { image: 'https://' }, 'parameter_invalid', 'image'],
    ['[N44] an image with a blank', { image: 'https://example.com/a b.jpg' }, 'parameter_invalid', 'image'],
    ['[N44] an image with half a %', { image: 'https://example.com/%a' }, 'parameter_invalid', 'image'],
    ['[N44] a port that there is not', { image: 'https://example.com:70000/' }, 'parameter_invalid', 'image'],
    ['[S66] another refund policy', { refund_policy: 'never' }, 'parameter_invalid', 'refund_policy'],
    ['[S66] a refund policy that is null', { refund_policy: null }, 'parameter_invalid', 'refund_policy'],
    ['[S67] transferable as a string', { transferable: 'yes' }, 'parameter_invalid', 'transferable'],
    ['[N13] a field that there is not', { colour: 'red' }, 'parameter_unknown', 'colour'],
    ['[N13] what the service sets', { status: 'on_sale' }, 'parameter_unknown', 'status'],
    [
      '[N13] what there was before JavaScript',
      JSON.parse('{"__proto__":{}}'),
      'parameter_unknown',
      '__proto__',
    ],
    ['[N13] a constructor', JSON.parse('{"constructor":1}'), 'parameter_unknown', 'constructor'],
  ])('%s', (_, differences, code, param) => {
    const before = account.snapshot()
    // A copy by its entries: what is called __proto__ is then one of them.
    const given = Object.fromEntries([...Object.entries(body()), ...Object.entries(differences as object)])
    const { message, ...refusal } = thrownRefusal(() => account.createEvent(given))
    expect([refusal.code, refusal.param, refusal.problems.length]).toEqual([code, param, 1])
    expect(message).toBe(refusal.problems[0].message)
    expect(message).toMatch(/[.?]$/)
    // [N93] It has changed nothing, and nothing was emitted.
    expect(account.snapshot()).toEqual(before)
    expect(emitted).toEqual([])
  })

  test('[N56] 101 tiers, and takes 100', () => {
    const many = (count: number) =>
      tiers(...Array.from({ length: count }, (_, index) => ({ name: `T${index}` })))
    expect(apiRefusalOf(() => create(many(101)))).toEqual(['parameter_invalid', 'tickets'])
    expect(create(many(100)).capacity).toBe(300)
  })

  test('[N15] all problems at once, and lists each', () => {
    const { problems } = thrownRefusal(() =>
      account.createEvent({ title: '<b>', doors_at: 'x', tickets: [{ ...tier, price_cents: -1, size: 3 }] }),
    )
    expect(problems.map(({ code, param }) => `${code} ${param}`)).toEqual([
      'title_contains_html title',
      'parameter_invalid doors_at',
      'parameter_invalid tickets[0].price_cents',
      'parameter_missing venue_id',
      'parameter_unknown tickets[0].size',
    ])
  })
})
