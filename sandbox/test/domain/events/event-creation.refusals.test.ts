import { describe, expect, test } from 'vitest'
import type { RefusalCode } from '../../../domain/refusal.js'
import { apiRefusalOf, thrownRefusal, ticketing } from '../../support/ticketing.js'

const { account, body, create, emitted } = ticketing()
const tier = { name: 'GA', price_cents: 2500, quantity: 3 }
const tiers = (...differences: Record<string, unknown>[]) => ({
  tickets: differences.map((difference) => ({ ...tier, ...difference })),
})

/** Refused with this one problem, and nothing has changed. */
function expectRefusal(differences: object, code: RefusalCode, param: string): void {
  const before = account.snapshot()
  // By its entries, so that __proto__ is one of them.
  const given = Object.fromEntries([...Object.entries(body()), ...Object.entries(differences)])
  const { message, ...refusal } = thrownRefusal(() => account.createEvent(given))
  expect([refusal.code, refusal.param, refusal.problems.length]).toEqual([code, param, 1])
  expect(message).toBe(refusal.problems[0].message)
  expect(message).toMatch(/[.?]$/)
  expect(account.snapshot()).toEqual(before)
  expect(emitted).toEqual([])
}

const HOST = 'https://example.com'

describe('an event is refused', () => {
  test.each<[string, string, unknown[]]>([
    ['[S58] [N12] [N32]', 'title', ['', ' \n\t ', 'a'.repeat(201), 5, null]],
    ['[N12]', 'venue_id', [7]],
    ['[S60]', 'doors_at', ['2026-07-01T19:00:00', '9998-12-31T23:00:00Z']],
    ['[N12] [N34]', 'doors_at', [1782928800000, '2026-02-30T19:00:00Z']],
    ['[S13]', 'ends_at', ['2026-07-01T23:00']],
    ['[S68] [N12] [N52]', 'on_sale_at', ['soon', null]],
    ['[S62] [N12]', 'tickets', [[], tier]],
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

  test.each(['title', 'doors_at', 'tickets'])('[S58] [S60] [S62] [N11] without %s', (name) => {
    expectRefusal({ [name]: undefined }, 'parameter_missing', name)
  })

  test.each(['name', 'price_cents', 'quantity'])('[S63] [N11] for a tier without %s', (name) => {
    const tickets = tiers({}, { name: 'B', [name]: undefined })
    expectRefusal(tickets, 'parameter_missing', `tickets[1].${name}`)
  })

  test.each(['colour', 'status', 'constructor', '__proto__'])('[N13] for the unknown field %s', (name) => {
    expectRefusal(Object.fromEntries([[name, {}]]), 'parameter_unknown', name)
  })

  test.each(['a <b>bold</b> one', 'a</b', '<!-- a -->', 'a <?xml'])(
    '[S7] [S58] [N33] for HTML in its title: %s',
    (title) => expectRefusal({ title }, 'title_contains_html', 'title'),
  )

  test.each<[string, object, RefusalCode, string]>([
    ['[S59] [N40] without a venue', { venue_id: undefined }, 'parameter_missing', 'venue_id'],
    ['[N40] [N14] with two venues', { venue: { name: 'Yard' } }, 'parameter_conflict', 'venue'],
    ['[S59] [N16] for an unknown venue', { venue_id: 'ven_none' }, 'resource_missing', 'venue_id'],
    ['[N16] for the id of an event', { venue_id: 'evt_none' }, 'resource_missing', 'venue_id'],
    ['[N35] if it ends early', { ends_at: '2026-07-01T17:59:59Z' }, 'ends_at_before_doors_at', 'ends_at'],
    ['[N35] if it ends at once', { ends_at: '2026-07-01T18:00:00Z' }, 'ends_at_before_doors_at', 'ends_at'],
    ['[N52] if on sale late', { on_sale_at: '2026-07-02T00:00' }, 'on_sale_after_end', 'on_sale_at'],
    ['[N52] if on sale at its end', { on_sale_at: '2026-07-01T22:00Z' }, 'on_sale_after_end', 'on_sale_at'],
    ['[N12] for a string as a tier', { tickets: ['GA'] }, 'parameter_invalid', 'tickets[0]'],
    ['[N13] for the id of a tier', tiers({ id: 'tkt_1' }), 'parameter_unknown', 'tickets[0].id'],
    ['[N37] for one name twice', tiers({}, { name: 'B' }, {}), 'duplicate_tier_name', 'tickets[2].name'],
    ['[N37] for it with blanks', tiers({}, { name: ' GA ' }), 'duplicate_tier_name', 'tickets[1].name'],
    ['[S65] [N45] for an upload', { image: 'data:image/png,A' }, 'image_upload_not_shown', 'image'],
    ['[N45] for one in capitals', { image: 'DATA:,x' }, 'image_upload_not_shown', 'image'],
  ])('%s', (_, differences, code, param) => expectRefusal(differences, code, param))

  const CONTROLS = ['\u0000', '\u0007', '\n', '\t', '\u001b[2J', '\u007f', '\u009b', '\ud800']
  test.each([...CONTROLS.map((control) => `a${control}b`), 'a\n', '\ta'])(
    '[N143] for a control character in a text: %j',
    (text) => {
      for (const [given, param] of [
        [{ title: text }, 'title'],
        [tiers({ name: text }), 'tickets[0].name'],
        [{ venue_id: undefined, venue: { name: text } }, 'venue.name'],
        [{ venue_id: undefined, venue: { name: text, city: text } }, 'venue.city'],
        ...(/\s/.test(text) ? [] : [[{ description_md: text }, 'description_md'] as const]),
      ] as const) {
        const { problems } = thrownRefusal(() => create(given))
        expect(problems).toContainEqual(expect.objectContaining({ code: 'parameter_invalid', param }))
      }
    },
  )

  test('[N56] with more than 100 tiers', () => {
    const many = (count: number) =>
      tiers(...Array.from({ length: count }, (_, index) => ({ name: `T${index}` })))
    expect(apiRefusalOf(() => create(many(101)))).toEqual(['parameter_invalid', 'tickets'])
    expect(create(many(100)).capacity).toBe(300)
  })

  test('[N15] with all its problems at once', () => {
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
