import { expect, test } from 'vitest'
import { subjectOf } from '../../../../http/control/json/subject.js'

const order = { id: 'ord_1', total_cents: 5400, buyer_email: 'buyer8@example.com' }

test.each([
  ['order.created', { order, tickets: [{}, {}] }, '2 tickets · 54.00 · buyer8@example.com'],
  [
    'order.created',
    { order: { ...order, total_cents: 0 }, tickets: [{}] },
    '1 ticket · 0.00 · buyer8@example.com',
  ],
  ['order.created', { order: { total_cents: '5', buyer_email: null }, tickets: {} }, ''],
  ['event.rescheduled', { event: { id: 'evt_1', title: 'Harbour Jazz' } }, 'Harbour Jazz · rescheduled'],
  ['event.published', { event: { title: 'two\nlines\t' } }, 'two lines · published'],
  [
    'order.created',
    { order: { ...order, total_cents: 1e300 }, tickets: Array(20_000).fill({}) },
    '20,000 tickets · buyer8@example.com',
  ],
  ['event.cancelled', { order, event: { title: '🎫'.repeat(121) } }, `${'🎫'.repeat(119)}… · cancelled`],
  ['membership.changed', { member: 1 }, ''],
  ['order.created', null, ''],
])('of %s with %j is %j', (type, data, subject) => {
  expect(subjectOf(messageOf(type, JSON.stringify({ type, data })))).toBe(subject)
})

test('of bytes that are not JSON is empty', () => {
  expect(subjectOf(messageOf('order.created', '{"type":'))).toBe('')
})

function messageOf(type: string, body: string) {
  return { id: 'msg_1', mode: 'test', createdAt: '2026-11-22T18:30:00.000Z', type, body }
}
