import { describe, expect, test } from 'vitest'
import { thrownRefusal, ticketing } from '../../support/ticketing.js'

const { account, body, create } = ticketing()
const tier = { name: 'GA', price_cents: 2500, quantity: 3 }
const tiers = (...differences: Record<string, unknown>[]) => ({
  tickets: differences.map((difference) => ({ ...tier, ...difference })),
})

describe('a message', () => {
  test.each<[Record<string, unknown>, string]>([
    [{ titel: 'x' }, 'There is no parameter titel: did you mean title?'],
    [{ doorsAt: 'x' }, 'There is no parameter doorsAt: did you mean doors_at?'],
    [{ 'Refund-Policy': 'final' }, 'There is no parameter Refund-Policy: did you mean refund_policy?'],
    [{ status: 'on_sale' }, 'status cannot be given: publish or cancel the event instead.'],
    [{ image_url: 'x' }, 'image_url cannot be given: give image instead.'],
    [{ title: 7 }, 'title must be a string, not 7.'],
    [{ image: null }, 'image must be a string, not null: omit it if there is none.'],
    [{ title: null }, 'title must be a string, not null.'],
    [{ title: undefined }, 'title is missing: it must be a string.'],
    [{ tickets: [] }, 'tickets must be a list of at least 1, not 0.'],
    [{ tickets: {} }, 'tickets must be a list, not an object.'],
    [tiers({ price_cents: '10' }), 'tickets[0].price_cents must be a whole number, not the string "10".'],
    [tiers({ name: '' }), 'tickets[0].name must be at least 1 character long, not 0.'],
    [
      { refund_policy: 'x' },
      'refund_policy must be one of anytime, refundable_24h, refundable_7d, final, exchange_only, not the string "x".',
    ],
    [{ transferable: [] }, 'transferable must be true or false, not a list.'],
  ])('[N11] [N12] [N13] about %j names the fix', (differences, says) => {
    expect(thrownRefusal(() => create(differences)).message).toBe(says)
  })

  test('quotes no more than 60 characters of anything', () => {
    const long = 'x'.repeat(100_000)
    const given = { doors_at: long, refund_policy: long, image: long.slice(0, 1999), [long]: 1 }
    const { problems } = thrownRefusal(() => account.createEvent({ ...body(), ...given }))
    expect(problems).toHaveLength(4)
    for (const { message, param } of problems) {
      expect(message.length).toBeLessThan(400)
      expect(param?.length).toBeLessThan(61)
    }
  })

  test('[N15] is one of at most 20', () => {
    const junk = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`junk${index}`, index]))
    expect(thrownRefusal(() => create(junk)).problems).toHaveLength(20)
    const tickets = Array.from({ length: 100 }, () => 1)
    expect(thrownRefusal(() => create({ tickets })).problems).toHaveLength(20)
    expect(thrownRefusal(() => create({ tickets, ...junk })).problems).toHaveLength(20)
  })
})
