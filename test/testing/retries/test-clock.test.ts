import { createReceiver, memoryStore } from 'tix-webhooks'
import { createTestClock, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { errorOf } from '../../support/thrown-error.js'

const START_MS = Date.UTC(2026, 4, 17, 14)

test('a clock stands still until it is advanced, and advances by the given time', () => {
  const { now, advance } = createTestClock()
  expect([now(), now()]).toEqual([START_MS, START_MS])
  advance(1500)
  advance(0)
  advance(0.5)
  expect(now()).toBe(START_MS + 1500.5)
})

test('clocks do not know of each other', () => {
  const [one, other] = [createTestClock(), createTestClock()]
  one.advance(1)
  expect(other.now()).toBe(START_MS)
})

test.each([
  ['a Date', new Date(START_MS), START_MS],
  ['milliseconds', START_MS + 7, START_MS + 7],
  ['ISO 8601', '2026-05-17T16:00:00+02:00', START_MS],
  ['the epoch', 0, 0],
  ['nothing', undefined, START_MS],
])('a clock starts at %s', (_what, start, expected) => {
  expect(createTestClock(start).now()).toBe(expected)
})

test.each([
  ['tomorrow', '"tomorrow"'],
  ['2026-02-30T00:00:00Z', '"2026-02-30T00:00:00Z"'],
  [Number.NaN, 'NaN'],
  [-1, '-1'],
  [9e15, '9000000000000000'],
  [null, 'null'],
  [new Date(Number.NaN), 'an invalid Date'],
  [{ start: 0 }, 'an object'],
  [Date.now, 'a function'],
  [Symbol('now'), 'a symbol'],
])('a clock does not start at %o', async (start, told) => {
  const error = await errorOf(() => createTestClock(start as number))
  expect(error).toBeInstanceOf(TypeError)
  expect(error.message).toMatch(/^start is not a date: .* in the years 1970 to 9998; not /)
  expect(error.message.endsWith(`not ${told}.`)).toBe(true)
})

test.each([
  [-1, '-1'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  [undefined, 'undefined'],
  ['1000', '"1000"'],
  [1n, 'a bigint'],
  [new Date(0), 'an object'],
])('a clock does not advance by %o, and stays where it is', async (by, told) => {
  const clock = createTestClock()
  const error = await errorOf(() => clock.advance(by as number))
  expect(error).toBeInstanceOf(TypeError)
  expect(error.message).toBe(`A test clock advances by milliseconds, 0 or more, not by ${told}.`)
  expect(clock.now()).toBe(START_MS)
})

describe('one clock for the deliveries, the receiver and the store', () => {
  async function endpoint() {
    const clock = createTestClock()
    const { now } = clock
    const store = memoryStore({ now })
    const on = { 'order.created': () => {} }
    const { receive } = createReceiver({
      secret: SECRET,
      on,
      store,
      namespace: 'test',
      now,
      onError: () => {},
    })
    const delivery = await signedDelivery('order.created', { secret: SECRET, now })
    const send = async ({ header, body } = delivery) => {
      const { outcome } = await receive({ header, body: new TextEncoder().encode(body), request: undefined })
      return outcome
    }
    return { clock, delivery, send }
  }

  test('makes a delivery stale to the second', async () => {
    const { clock, send } = await endpoint()
    clock.advance(300_999)
    expect(await send()).toBe('handled')
    clock.advance(1)
    expect(await send()).toBe('unauthenticated')
  })

  test('ends the retention of the store', async () => {
    const { clock, delivery, send } = await endpoint()
    const week = 7 * 86_400_000
    expect(await send()).toBe('handled')
    clock.advance(week - 1000)
    expect(await send(await delivery.signAgain())).toBe('duplicate')
    clock.advance(1000)
    expect(await send(await delivery.signAgain())).toBe('handled')
  })
})
