import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createGenerations } from '../../../../src/ledger/memory/generations.js'
import { addTo, createFilter, hashOf, mayHold } from '../../../../src/ledger/memory/key-filter.js'

const MAX_KEYS = 800
const NEVER = 1e9

/** Completes a key repeatedly, each time with its own retention, and returns the number of places taken. */
function placesTaken(retainMs: (time: number) => number): number {
  const generations = createGenerations(MAX_KEYS, () => {})
  const hash = hashOf('k')
  for (let time = 0; time < 20_000; time++) {
    generations.forget(time)
    const settled = generations.find('k', hash, time)
    if (settled !== undefined) generations.remove('k', settled)
    generations.addCompleted('k', hash, 'token', time, retainMs(time))
    // A record that keeps its generation from being forgotten.
    if (time % 1_000 === 0) {
      const kept = { token: 'token', attempt: 1, expiresAt: NEVER }
      generations.addReleased(`kept ${time}`, hashOf(`kept ${time}`), kept, time)
    }
    expect(generations.size).toBe(2 + Math.floor(time / 1_000))
  }
  let places = 0
  for (let oldest = generations.shift(); oldest !== undefined; oldest = generations.shift()) {
    places += oldest.expiries.length
    expect(oldest.tokenHeads).toHaveLength(oldest.expiries.length)
    expect(oldest.tokenTails).toHaveLength(oldest.expiries.length)
  }
  expect(generations.size).toBe(0)
  return places
}

test.each([
  ['one after another', () => NEVER],
  ['with short retentions', () => 1],
  ['with retentions that differ', (time: number) => (time % 2 === 0 ? NEVER : 2)],
])('records that are completed again, %s, do not use up memory', { tags: ['slow'] }, (_, retainMs) => {
  expect(placesTaken(retainMs)).toBeLessThanOrEqual(2 * MAX_KEYS)
})

test.each(['completed', 'released'])(
  'keeps few %s records that are past their retention, however few are added',
  (what) => {
    const generations = createGenerations(8_000, () => {})
    for (let time = 1e6; time < 1e6 + 1_000; time++) {
      const [key, hash] = [`k${time}`, hashOf(`k${time}`)]
      generations.forget(time)
      if (what === 'completed') generations.addCompleted(key, hash, 'token', time, 80)
      else generations.addReleased(key, hash, { token: 'token', attempt: 1, expiresAt: time + 80 }, time)
    }
    // The records of the last 80, and of an eighth more.
    expect(generations.size).toBeLessThanOrEqual(90)
  },
)

test('drops the oldest records first, and few at a time, though short retentions have started many generations', () => {
  const generations = createGenerations(MAX_KEYS, () => {})
  let time = 0
  const add = (count: number, retainMs: number): void => {
    for (let i = 0; i < count; i++) {
      time += 1
      generations.addCompleted(`k${time}`, hashOf(`k${time}`), 'token', time, retainMs)
    }
  }
  add(600, NEVER)
  add(10, 8)
  add(190, NEVER)
  const sizes: number[] = []
  const starts: number[] = []
  for (let oldest = generations.shift(); oldest !== undefined; oldest = generations.shift()) {
    sizes.push(oldest.records.size)
    starts.push(oldest.startedAt)
  }
  expect(sizes).toHaveLength(16)
  expect(Math.max(...sizes)).toBe(MAX_KEYS / 8)
  expect(starts).toEqual([...starts].sort((a, b) => a - b))
})

test('may hold whatever was added to it, however much that is', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 }), fc.array(fc.string({ maxLength: 40 })), (keys, added) => {
      const filter = createFilter(keys)
      for (const key of added) addTo(filter, hashOf(key))
      for (const key of added) expect(mayHold(filter, hashOf(key))).toBe(true)
    }),
  )
})

describe('holds few of the keys that were not added', () => {
  const sha256 = (text: string) => createHash('sha256').update(text).digest()

  test.each<[string, (n: number) => string]>([
    ['numbers', (n) => `orders/order.created/${n}`],
    ['digests', (n) => sha256(`${n}`).toString('hex')],
    ['random ids', (n) => `orders/order.created/${sha256(`${n}`).toString('base64url').slice(0, 14)}`],
  ])('%s', { tags: ['slow'] }, (_, keyOf) => {
    for (const count of [1_000, 30_000]) {
      const filter = createFilter(count)
      for (let n = 0; n < count; n++) addTo(filter, hashOf(keyOf(n)))

      let falsePositives = 0
      for (let n = count; n < 2 * count; n++) if (mayHold(filter, hashOf(keyOf(n)))) falsePositives++

      expect(falsePositives / count).toBeLessThan(0.05)
    }
  })
})

test('stays small, whatever it is to hold', () => {
  expect(createFilter(Number.MAX_SAFE_INTEGER).byteLength).toBe(2 ** 20)
  expect(createFilter(250_000 / 8).byteLength).toBe(2 ** 16)
})
