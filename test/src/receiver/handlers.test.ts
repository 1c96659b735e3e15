import { type AnyEvent, type SchemaMap, unchecked } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { type Handler, handlerLookup } from '../../../src/receiver/handlers.js'
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

/** The key of `on` that a kind finds, or `onUnhandled`, or nothing. */
function found(
  keys: readonly string[],
  kind: string,
  options: { schemas?: SchemaMap; fallback?: boolean } = {},
) {
  const on = Object.fromEntries(keys.map((key) => [key, handler(key)]))
  const onUnhandled = options.fallback === true ? handler('onUnhandled') : undefined
  return call(handlerLookup(on, onUnhandled, options.schemas ?? {})(kind))
}

describe('the most specific handler runs', () => {
  test.each<[string[], string, string | undefined]>([
    [['order.created'], 'order.created', 'order.created'],
    [['event.*'], 'event.published', 'event.*'],
    [['event.published', 'event.*'], 'event.published', 'event.published'],
    [['event.published', 'event.*'], 'event.cancelled', 'event.*'],
    [['order.*'], 'event.published', undefined],
  ])('of %j, for %s: %s', (keys, kind, expected) => {
    expect(found(keys, kind)).toBe(expected)
    expect(found(keys, kind, { fallback: true })).toBe(expected ?? 'onUnhandled')
  })

  test.each<[string[], string, string | undefined]>([
    [['event.*', 'event.venue.*', 'event.venue.changed'], 'event.venue.changed', 'event.venue.changed'],
    [['event.*', 'event.venue.*'], 'event.venue.changed', 'event.venue.*'],
    [['event.*', 'event.venue.*', 'event.venue.door.*'], 'event.venue.door.moved', 'event.venue.door.*'],
    [['event.venue.*'], 'event.published', undefined],
    [['order.*'], 'order.refunded', 'order.*'],
    [['heartbeat'], 'heartbeat', 'heartbeat'],
  ])('of %j with more kinds by schemas, for %s: %s', (keys, kind, expected) => {
    expect(found(keys, kind, { schemas })).toBe(expected)
  })
})

test.each([
  'event.archived',
  'event.venue.changed',
  'event',
  'event.*',
  'Event.Published',
  'constructor',
  '__proto__',
  '*',
  '',
])('a kind that is not listed goes to onUnhandled, or nowhere: "%s"', (kind) => {
  const keys = ['order.created', 'order.*', 'event.published', 'event.*']
  expect(found(keys, kind)).toBeUndefined()
  expect(found(keys, kind, { fallback: true })).toBe('onUnhandled')
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
