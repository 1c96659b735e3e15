import { isKind, isKnownEvent } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { lifecycleEvent } from '../../support/deliveries.js'

test.each<[string, { known: boolean; order: boolean; orders: boolean; lifecycle: boolean }]>([
  ['order.created', { known: true, order: true, orders: true, lifecycle: false }],
  ['event.published', { known: true, order: false, orders: false, lifecycle: true }],
  ['event.archived', { known: false, order: false, orders: false, lifecycle: false }],
  ['event.*', { known: false, order: false, orders: false, lifecycle: false }],
])('the guards on "%s"', (type, expected) => {
  const event = { ...lifecycleEvent('event.published'), type }
  expect({
    known: isKnownEvent(event),
    order: isKind(event, 'order.created'),
    orders: isKind(event, 'order.*'),
    lifecycle: isKind(event, 'event.*'),
  }).toEqual(expected)
})

test.each([
  ['order.created', true],
  ['order.refunded', false],
  ['order', false],
  ['', false],
  ['order.*', true],
  ['order.created.*', false],
  ['.*', false],
  ['*', false],
])('an order.created is of the kind %s: %s', (kind, is) => {
  expect(isKind({ type: 'order.created' }, kind)).toBe(is)
})
