import { describe, expect, test } from 'vitest'
import { withChanges } from '../../../service/trigger/payload-changes.js'

const order = () => ({
  type: 'order.created',
  data: {
    order: { id: 'ord_1', total_cents: 5400 },
    tickets: [
      { id: 'tik_1', tier: 'GA' },
      { id: 'tik_2', tier: 'GA' },
    ],
  },
})

describe('a change of a payload', () => {
  test.each([
    ['data.order.total_cents', 0],
    ['data.order.id', null],
    ['data.order', { any: 'thing' }],
    ['data.tickets[1].tier', 'VIP'],
    ['data.tickets.1.tier', 'VIP'],
    ['data.tickets', []],
  ])('sets %s, and nothing else', (path, value) => {
    const before = order()
    const { data } = withChanges(before, { [path]: value })
    expect(before).toEqual(order())
    const expected = order() as { data: Record<string, unknown> }
    const steps = path.replace(/\[(\d+)\]/, '.$1').split('.')
    const last = steps.pop() ?? ''
    let at: Record<string, unknown> = expected as never
    for (const step of steps) at = at[step] as Record<string, unknown>
    at[last] = value
    expect(data).toEqual(expected.data)
  })

  test.each([
    ...['data.order.total', 'data.order.id.x', 'data.tickets[2].tier', 'data.tickets[-1].tier', '', '.'],
    ...['order.total_cents', 'type', 'created_at', 'data', 'data.__proto__.polluted'],
    ...['data.order.constructor', 'data.tickets.length', 'data.tickets.length.x'],
  ])('with the unknown path %j is refused, and the known paths are listed', (path) => {
    expect(() => withChanges(order(), { [path]: 1 })).toThrow(
      /^The payload has no .*It has data\.order\.id, data\.order\.total_cents, data\.tickets\[0\]\.id/,
    )
  })
})
