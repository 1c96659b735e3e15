import { type AnyEvent, type SchemaMap, unchecked } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { type Handler, handlerLookup } from '../../../src/event/handlers.js'
import { orderCreated } from '../../support/deliveries.js'

type AnyHandler = Handler<AnyEvent, unknown>

/** A handler that returns its name. */
const handler =
  (name: string): AnyHandler =>
  () =>
    name

const schemas: SchemaMap = {
  'order.refunded': unchecked(),
  'event.venue.changed': unchecked(),
  'event.venue.door.moved': unchecked(),
  heartbeat: unchecked(),
}

const call = (found: AnyHandler | undefined): unknown => found?.(orderCreated(), undefined as never)

test.each<[string[], string, string | undefined]>([
  [['order.created'], 'order.created', 'order.created'],
  [['event.*'], 'event.published', 'event.*'],
  [['event.published', 'event.*'], 'event.published', 'event.published'],
  [['event.published', 'event.*'], 'event.cancelled', 'event.*'],
  [['order.*'], 'event.published', undefined],
  [['event.*', 'event.venue.*', 'event.venue.changed'], 'event.venue.changed', 'event.venue.changed'],
  [['event.*', 'event.venue.*'], 'event.venue.changed', 'event.venue.*'],
  [['event.*', 'event.venue.*', 'event.venue.door.*'], 'event.venue.door.moved', 'event.venue.door.*'],
  [['event.venue.*'], 'event.published', undefined],
  [['order.*'], 'order.refunded', 'order.*'],
  [['heartbeat'], 'heartbeat', 'heartbeat'],
  [['event.*'], 'event.archived', undefined],
  [['event.*'], 'event', undefined],
  [['event.*'], 'event.*', undefined],
  [['event.*'], 'Event.Published', undefined],
  [['order.created'], 'constructor', undefined],
  [['order.created'], '__proto__', undefined],
])('of the handlers of %j, the most specific one for %s runs: %s', (keys, kind, expected) => {
  const on = Object.fromEntries(keys.map((key) => [key, handler(key)]))
  expect(call(handlerLookup(on, undefined, schemas)(kind))).toBe(expected)
  const fallback = handlerLookup(on, handler('onUnhandled'), schemas)
  expect(call(fallback(kind))).toBe(expected ?? 'onUnhandled')
})

test('what is done to `on` later changes nothing', () => {
  const on: Record<string, AnyHandler> = { 'order.created': handler('first') }
  const lookup = handlerLookup(on, undefined, {})
  on['order.created'] = handler('second')
  expect(call(lookup('order.created'))).toBe('first')
})

test.each([
  'order.create',
  'Order.created',
  'order.refunded',
  'orders.*',
  'order.created.*',
  'constructor',
  '__proto__',
])('a key that no delivery could reach is a TypeError that says what to do: "%s"', (key) => {
  const make = () => handlerLookup({ [key]: handler(key) }, undefined, {})
  expect(make).toThrow(TypeError)
  expect(make).toThrow(`on["${key}"] is not a kind that the service sends, nor a group of them.`)
  expect(make).toThrow(/There are order\.created, event\.published, .*order\.\*, event\.\*/)
  expect(make).toThrow(`give it a schema: schemas: { '${key}': unchecked<Data>() }`)
  expect(make).toThrow(/for all others there is onUnhandled/)
})

test('a handler, or a schema, that is undefined counts as absent', () => {
  const onGroup = handler('order.*')
  const lookup = handlerLookup({ 'order.created': undefined, 'order.*': onGroup }, undefined, {
    'event.moved': undefined,
  })
  expect(lookup('order.created')).toBe(onGroup)
  expect(() => handlerLookup({ 'event.moved': onGroup }, undefined, { 'event.moved': undefined })).toThrow(
    'on["event.moved"] is not a kind that the service sends',
  )
})

test.each<[unknown, string]>([
  [{ 'event.*': null }, 'on["event.*"] must be a function (event, ctx) => …, not null.'],
  [{ 'event.*': [() => {}] }, 'on["event.*"] must be a function (event, ctx) => …, not an array.'],
  [{ 'event.*': async function* () {} }, 'on["event.*"] must not be a generator function'],
  [undefined, 'on must be a plain object of handlers by kind, such as'],
])('anything but handlers is a TypeError that names it: %o', (on, message) => {
  const make = () => handlerLookup(on as object, undefined, {})
  expect(make).toThrow(TypeError)
  expect(make).toThrow(message)
})
