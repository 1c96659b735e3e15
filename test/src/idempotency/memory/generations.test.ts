import { expect, test } from 'vitest'
import { createGenerations } from '../../../../src/idempotency/memory/generations.js'
import { hashOf } from '../../../../src/idempotency/memory/key-filter.js'

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

test('says when a generation starts, and how many records there are', () => {
  const starts: number[] = []
  const generations = createGenerations(16, (time) => starts.push(time))
  for (let time = 0; time < 6; time++) {
    generations.addCompleted(`k${time}`, hashOf(`k${time}`), 'token', time, NEVER)
  }
  expect(starts).toEqual([0, 2, 4])
  expect(generations.size).toBe(6)
  expect(generations.shift()?.records.size).toBe(2)
  expect(generations.size).toBe(4)
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
