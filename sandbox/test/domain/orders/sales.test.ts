import { describe, expect, test } from 'vitest'
import type { RefusalCode } from '../../../domain/refusal.js'
import { orderResult } from '../../../domain/resources.js'
import { apiRefusalOf, PUBLIC_URL, ticketing, tierId } from '../../support/ticketing.js'

interface Snapshot {
  events: { orders: [string, string, number, number, number, boolean][] }[]
}

describe('an order', () => {
  test('[S3] [S79] [S92] [N55] [N96] [S28] [S29] [S30] [S31] [S32] [S33] [S34] [S57] [N53] [N54] has a ticket per unit, each with its token and its pass, which are not sent', () => {
    const { publish, order, emitted } = ticketing()
    const event = publish()
    emitted.length = 0
    const result = order(event, 2, 1)
    const ticket = {
      id: expect.stringMatching(/^tik_[0-9A-Za-z]{20}$/),
      tier: 'Balcony',
      scan_token: expect.stringMatching(/^[0-9A-Za-z]{24}$/),
      wallet_pass_url: expect.stringContaining(`${PUBLIC_URL}/`),
    }
    expect(result).toEqual({
      order: {
        id: expect.stringMatching(/^ord_[0-9A-Za-z]{20}$/),
        event_id: event.id,
        total_cents: 8000,
        buyer_email: 'buyer1@example.com',
      },
      tickets: [ticket, ticket],
    })
    expect(new Set(result.tickets.flatMap((one) => Object.values(one))).size).toBe(1 + 6)
    expect(orderResult.parse(result)).toEqual(result)
    const { event_id: _, ...sold } = result.order
    const data = { order: sold, tickets: result.tickets.map(({ id, tier }) => ({ id, tier })) }
    expect(emitted).toEqual([{ kind: 'order.created', data }])
  })

  test('[S41] [S54] [N76] is refunded if the event is cancelled, whatever its refund policy', () => {
    for (const refund_policy of ['anytime', 'final', 'exchange_only']) {
      const { account, publish, order } = ticketing()
      const [event, other] = [publish({ refund_policy }), publish()]
      for (const one of [event, other, event]) order(one, 1)
      account.cancelEvent(event.id)
      const { events } = account.snapshot() as Snapshot
      expect(events.map(({ orders }) => orders.map(([, , , , , refunded]) => refunded))).toEqual([
        [true, true],
        [false],
      ])
      expect(account.counts().orders).toBe(3)
    }
  })
})

describe('an order is refused, and nothing changes,', () => {
  const { account, publish, emitted } = ticketing()
  const event = publish()
  const other = publish()
  emitted.length = 0
  const good = { event_id: event.id, ticket_tier_id: tierId(event), quantity: 1 }

  test.each<[string, string, RefusalCode, unknown[]]>([
    ['[S78] without its event', 'event_id', 'parameter_missing', [undefined]],
    ['[S78] without its tier', 'ticket_tier_id', 'parameter_missing', [undefined]],
    ['[S78] without a quantity', 'quantity', 'parameter_missing', [undefined]],
    ['[S78] [N81] [N56] with an invalid quantity', 'quantity', 'parameter_invalid', [0, -1, 0.5, '1', 1001]],
    ['[N16] of an unknown event', 'event_id', 'resource_missing', ['evt_none']],
    ['[S27] [N16] of no tier of it', 'ticket_tier_id', 'resource_missing', ['tkt_none', tierId(other)]],
    ['[N89] of more than are left', 'quantity', 'tier_sold_out', [4]],
    ['[N13] with an unknown field', 'buyer_email', 'parameter_unknown', ['me@example.com']],
  ])('%s', (_, param, code, values) => {
    const before = [account.snapshot(), account.counts()]
    for (const value of values) {
      const order = () => account.createOrder({ ...good, [param]: value })
      expect(apiRefusalOf(order)).toEqual([code, param])
    }
    expect([account.snapshot(), account.counts()]).toEqual(before)
    expect(emitted).toEqual([])
  })
})
