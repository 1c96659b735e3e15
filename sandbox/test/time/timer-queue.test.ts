import { expect, test } from 'vitest'
import { TimerQueue } from '../../time/timer-queue.js'

test('cancelled timers are not kept, and the others fire in their order', () => {
  const queue = new TimerQueue()
  const seen: number[] = []
  const kept: number[] = []
  let largest = 0
  for (let index = 0; index < 10_000; index++) {
    const atMs = (index * 7919) % 50_021
    const timer = queue.add(atMs, () => seen.push(atMs))
    if (index % 50 === 0) kept.push(atMs)
    else timer.cancel()
    largest = Math.max(largest, queue.size)
  }
  expect(largest).toBeLessThan(2000)
  for (const work of queue.take(50_021)) work()
  expect(seen).toEqual(kept.sort((a, b) => a - b))
  expect(queue.size).toBe(0)
})

test('a timer that was taken, or forgotten, can still be cancelled', () => {
  const queue = new TimerQueue()
  const [first, second] = [queue.add(1, () => {}), queue.add(2, () => {})]
  for (const work of queue.take(1)) work()
  first.cancel()
  queue.clear()
  second.cancel()
  expect(queue.nextAt()).toBeUndefined()
  queue.add(3, () => {})
  expect(queue.nextAt()).toBe(3)
})
