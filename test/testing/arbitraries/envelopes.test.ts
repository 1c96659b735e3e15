/** @module-tag slow */
// Strict, as `toStrictEqual` would be if it did not take a field `constructor` for a class.
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { createReceiver, isKnownEvent, PayloadError, parseEvent } from 'tix-webhooks'
import { callHandler, sampleEvent } from 'tix-webhooks/testing'
import { envelopes, notEnvelopes, unknownEvents } from 'tix-webhooks/testing/fast-check'
import { describe, expect, test } from 'vitest'
import { SECRET, sign } from '../../support/deliveries.js'
import { runs } from '../../support/runs.js'
import { labelsOf, manyOf } from '../../support/testing/samples-of.js'

const KINDS = ['order.created', 'event.published', 'event.cancelled', 'event.rescheduled']

const NOT_ASCII = /\P{ASCII}/u

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

  test('is as it is when it has been read', () => {
    // Many, because few numbers are -0.
    for (const event of manyOf(unknownEvents(), 3000))
      deepStrictEqual(JSON.parse(JSON.stringify(event)), event)
  })

  test('is taken by the rest of the kit: as a sample that is exact, and by callHandler', async () => {
    await fc.assert(
      fc.asyncProperty(unknownEvents(), async ({ type, created_at, data }) => {
        const event = sampleEvent(type, { data, at: created_at, exact: true })
        deepStrictEqual(event, { type, created_at, data })
        fc.pre(!type.endsWith('.*'))
        const on = { [type]: (one: unknown) => one }
        // A literal with a computed name has it as its own, whatever the name is.
        deepStrictEqual(await callHandler(on, type, event), event)
      }),
      { numRuns: runs(30) },
    )
  })

  test('is of all sorts', () => {
    const seen = labelsOf(unknownEvents(), ({ type, data }) => ({
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
    expect(seen.missing).toEqual([])
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

  test('is of any kind, with fields beside the data', () => {
    const seen = labelsOf(envelopes(), (envelope) => ({
      [envelope.type]: true,
      unknown: !isKnownEvent(envelope),
      bare: Object.keys(envelope).length === 3,
      'with an id': Object.hasOwn(envelope, 'id'),
      'with more': Object.keys(envelope).length > 4,
      'with a prototype': Object.hasOwn(envelope, '__proto__'),
    }))
    expect(seen.missing).toEqual([])
    expect(seen.found).toEqual(expect.arrayContaining(KINDS))
  })
})

describe('JSON that is no envelope', () => {
  test('is none to the receiver', async () => {
    await fc.assert(
      fc.asyncProperty(notEnvelopes(), async (value) => {
        await expect(parseEvent(JSON.stringify(value))).rejects.toMatchObject({ code: 'not_an_envelope' })
      }),
      { numRuns: runs(75) },
    )
  })

  test('is so for every reason', async () => {
    const refusals = await Promise.all(
      manyOf(notEnvelopes(), 1000).map((value) =>
        parseEvent(JSON.stringify(value)).catch((error: PayloadError) => error),
      ),
    )
    const issues = refusals.map((refusal) => (refusal as PayloadError).issues)
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
})
