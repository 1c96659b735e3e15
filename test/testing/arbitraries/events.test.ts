/** @module-tag slow */
// Strict, as `toStrictEqual` would be if it did not take a field `constructor` for a class.
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { createReceiver, type EventKind, isKnownEvent, PayloadError, parseEvent } from 'tix-webhooks'
import { type SampleDataByKind, sampleEvent } from 'tix-webhooks/testing'
import * as arbitraries from 'tix-webhooks/testing/fast-check'
import {
  envelopes,
  eventsOf,
  knownEvents,
  notEnvelopes,
  unknownEvents,
} from 'tix-webhooks/testing/fast-check'
import { describe, expect, test } from 'vitest'
import { SECRET, sign } from '../../support/deliveries.js'
import { runs } from '../../support/runs.js'
import { expectEach, manyOf } from '../../support/testing/samples-of.js'

const KINDS: EventKind[] = ['order.created', 'event.published', 'event.cancelled', 'event.rescheduled']
const NOT_ASCII = /\P{ASCII}/u

interface Ticketed {
  readonly event: SampleDataByKind['event.published']['event']
  readonly previous_attributes?: { readonly doors_at: string }
}

describe('an event of a documented kind', () => {
  test.each(KINDS)('is valid by the specification, and plain JSON: %s', async (kind) => {
    await fc.assert(
      fc.asyncProperty(eventsOf(kind), async (event) => {
        const { type, created_at, data } = event
        expect(type).toBe(kind)
        // Refuses what is not documented, and adds what is missing.
        deepStrictEqual(sampleEvent(kind, { at: created_at, data: data as object }), event)
        // No object without a prototype, no undefined, no -0.
        deepStrictEqual(await parseEvent(JSON.stringify(event)), event)
      }),
      { numRuns: runs(30) },
    )
  })

  test('of all kinds is among those that are known', () => {
    expect(new Set(manyOf(knownEvents(), 50).map(({ type }) => type))).toEqual(new Set(KINDS))
    expect(manyOf(unknownEvents(), 50).some((event) => isKnownEvent(event))).toBe(false)
  })

  test.each(['order.refunded', 'constructor', ''])('cannot be had of a kind that is none: %j', (kind) => {
    expect(() => eventsOf(kind as EventKind)).toThrow(TypeError)
    expect(() => eventsOf(kind as EventKind)).toThrow('kind must be one of order.created, event.published')
  })

  test('is an order of any sort, whose tickets have ids of their own', () => {
    expectEach(eventsOf('order.created'), ({ created_at, data: { order, tickets } }) => {
      expect(order.id).toMatch(/^ord_[0-9A-Za-z]+$/)
      expect(order.buyer_email).toMatch(/^[^\s@]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/)
      expect(new Set(tickets.map(({ id }) => id)).size).toBe(tickets.length)
      for (const { id } of tickets) expect(id).toMatch(/^tik_[0-9A-Za-z]+$/)
      return {
        free: order.total_cents === 0,
        'past 32 bits': order.total_cents > 2 ** 32,
        'without tickets': tickets.length === 0,
        'with one ticket': tickets.length === 1,
        'with more than a hundred tickets': tickets.length > 100,
        'with two tickets of one tier': new Set(tickets.map(({ tier }) => tier)).size < tickets.length,
        'with a tier of more than one plane': tickets.some(({ tier }) => [...tier].length < tier.length),
        'with a long tier': tickets.some(({ tier }) => tier.length > 500),
        'with a quote in the address': order.buyer_email.includes("'"),
        'with a plus in the address': order.buyer_email.includes('+'),
        'at a part of a second': created_at.includes('.'),
        'of another century': created_at.startsWith('21'),
      }
    })
  })

  test('shows what happened to a ticketed event', () => {
    fc.assert(
      fc.property(fc.oneof(...KINDS.slice(1).map(eventsOf)), ({ type, created_at, data }) => {
        const { event, previous_attributes: previous } = data as unknown as Ticketed
        if (type === 'event.published') expect(event.status).toBe('on_sale')
        if (type === 'event.cancelled') expect(event.status).toBe('cancelled')
        if (type === 'event.rescheduled') expect(previous?.doors_at).not.toBe(event.doors_at)
        expect(event.updated_at).toBe(created_at)
        expect(Date.parse(event.created_at)).toBeLessThanOrEqual(Date.parse(event.updated_at))
        expect(Date.parse(event.doors_at)).toBeLessThan(Date.parse(event.ends_at))
        expect(event.sold).toBeLessThanOrEqual(event.capacity)
      }),
    )
  })
})

describe('an event of a kind that is not documented', () => {
  test('is passed on untouched, and goes to onUnhandled alone', async () => {
    await fc.assert(
      fc.asyncProperty(unknownEvents(), async (event) => {
        const unhandled: unknown[] = []
        const { receive } = createReceiver({
          secret: SECRET,
          on: { 'order.created': () => expect.unreachable(), 'event.*': () => expect.unreachable() },
          onUnhandled: (one) => void unhandled.push(one),
        })
        expect(await receive({ ...(await sign(event)), request: null })).toEqual({ outcome: 'handled' })
        deepStrictEqual(unhandled, [event])
      }),
      { numRuns: runs(30) },
    )
  })

  test('is of all sorts', () => {
    expectEach(unknownEvents(), ({ type, data }) => ({
      'a plain name': /^[a-z_]+\.[a-z_]+$/.test(type),
      'a name that objects have': type in {},
      'a name like a group': type.endsWith('*'),
      'a name in the family': type.startsWith('event.'),
      'a name that is not ASCII': NOT_ASCII.test(type),
      'a name with a control character': /\p{Cc}/u.test(type),
      'half of a surrogate pair': /\p{Cs}/u.test(type),
      'no data': Object.keys(data).length === 0,
      'data that looks like an order': Object.hasOwn(data, 'order'),
      'a prototype in its data': Object.hasOwn(data, '__proto__'),
      'data within data': Object.values(data).some((value) => Object.keys(value ?? 0).length > 0),
    }))
  })
})

describe('an envelope', () => {
  test('is one to the receiver, with all that is in it', async () => {
    await fc.assert(
      fc.asyncProperty(envelopes(), async (envelope) => {
        const read = await parseEvent(JSON.stringify(envelope)).catch((error: unknown) => error)
        if (envelope.type === 'order.created' && read instanceof PayloadError) {
          expect(read.code).toBe('data_mismatch')
        } else {
          deepStrictEqual(read, envelope)
        }
      }),
      { numRuns: runs(30) },
    )
  })
})

test('JSON that is no envelope is none to the receiver, for every reason', async () => {
  const issues = await Promise.all(
    manyOf(notEnvelopes(), 1000).map(async (value) => {
      const refusal = await parseEvent(JSON.stringify(value)).catch((error: PayloadError) => error)
      expect(refusal).toMatchObject({ code: 'not_an_envelope' })
      return (refusal as PayloadError).issues
    }),
  )
  const told = new Set(issues.flat().map(({ path, message }) => `${path.join('.')}: ${message}`))
  const others = ['null', 'a boolean', 'a number', 'an array']
  expect([...told]).toEqual(
    expect.arrayContaining([
      ...[...others, 'a string'].map((type) => `: expected a JSON object, got ${type}`),
      ...[...others, 'undefined', 'an empty string', 'an object'].map(
        (type) => `type: expected a non-empty string, got ${type}`,
      ),
      ...[...others, 'undefined', 'an object'].map((type) => `created_at: expected a string, got ${type}`),
      ...[...others, 'undefined', 'a string'].map((type) => `data: expected an object, got ${type}`),
    ]),
  )
  // One field alone, and all of them.
  expect(new Set(issues.map(({ length }) => length))).toEqual(new Set([1, 2, 3]))
})

const ALL = Object.entries(arbitraries).flatMap(([name, make]): [string, fc.Arbitrary<unknown>][] =>
  make === eventsOf
    ? [
        [name, eventsOf('event.rescheduled')],
        ['orders', eventsOf('order.created')],
      ]
    : [[name, (make as () => fc.Arbitrary<unknown>)()]],
)

/** How a property is shrunk depends on the seed. */
const SEEDS = Array.from({ length: runs(3) }, (_, index) => index + 1)

/** The counterexample that fast-check reports for a fault. */
function shrunk<Value>(arbitrary: fc.Arbitrary<Value>, isFault: (value: Value) => boolean, seed = 7): Value {
  const { counterexample } = fc.check(
    fc.property(arbitrary, (value) => !isFault(value)),
    { seed, numRuns: 2000 },
  )
  if (counterexample === null) throw new Error('nothing of the arbitrary has the fault')
  return counterexample[0]
}

test.each(ALL)('%s gives the same values for the same seed', (_, arbitrary) => {
  const values = () => fc.sample(arbitrary, { seed: 1, numRuns: 50 })
  expect(values()).toEqual(values())
})

describe('what fails is shrunk to what is small', () => {
  // Longer are those of the object that tickets are sold for, which has seventeen fields.
  const LIMITS: Readonly<Record<string, number>> = {
    eventsOf: 750,
    knownEvents: 750,
  }

  test.each(ALL)('%s', (name, arbitrary) => {
    for (const seed of SEEDS) {
      const least = fc.stringify(shrunk(arbitrary, () => true, seed))
      expect(least.length, least).toBeLessThan(LIMITS[name] ?? 200)
    }
  })

  test('an order, to what it fails for', () => {
    const at = { type: 'order.created', created_at: '2026-05-17T14:00:00Z' }
    const free = { id: 'ord_0', total_cents: 0, buyer_email: 'a@example.com' }
    expect(shrunk(eventsOf('order.created'), () => true)).toEqual({
      ...at,
      data: { order: free, tickets: [] },
    })
    expect(shrunk(eventsOf('order.created'), ({ data }) => data.order.total_cents > 999)).toEqual({
      ...at,
      data: { order: { ...free, total_cents: 1000 }, tickets: [] },
    })
    const { tickets, order } = shrunk(eventsOf('order.created'), ({ data }) => data.tickets.length > 2).data
    expect(order).toEqual(free)
    expect(tickets.map(({ tier }) => tier)).toEqual(Array(3).fill('general admission'))
  })
})
