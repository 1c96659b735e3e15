import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { FailureGauge } from '../../adapters/opentelemetry/failure-gauge.js'
import { deferred } from '../support/promises.js'

/** A gauge whose collections return its points. */
function gauge(count: (filter: { state?: string }) => unknown) {
  let callback: (result: object) => Promise<void> = async () => {}
  new FailureGauge({ count } as never, 'orders').observeBy({
    createObservableGauge: () => ({
      addCallback(given: never) {
        callback = given
      },
    }),
  } as never)
  return async () => {
    const points: unknown[] = []
    await callback({ observe: (value: unknown) => points.push(value) })
    return points
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
})

test('a count of two slow statements is not repeated meanwhile', async () => {
  const [first, second] = [deferred<number>(), deferred<number>()]
  const count = vi.fn(({ state }: { state?: string }) => (state === 'failing' ? first : second).promise)
  const collect = gauge(count)
  const early = collect()
  await vi.advanceTimersByTimeAsync(9_000)
  await early
  first.resolve(1)
  await vi.advanceTimersByTimeAsync(4_000)
  const late = collect()
  await vi.advanceTimersByTimeAsync(2_000)
  await late
  expect(count).toHaveBeenCalledTimes(2)
})

test('the late end of a count leaves the one that took its place', async () => {
  const [first, second] = [deferred<number>(), deferred<number>()]
  const count = vi
    .fn<() => unknown>(() => 1)
    .mockImplementationOnce(() => first.promise)
    .mockImplementationOnce(() => second.promise)
  const collect = gauge(count)
  const one = collect()
  await vi.advanceTimersByTimeAsync(12_000)
  await one
  const two = collect()
  await vi.advanceTimersByTimeAsync(2_000)
  first.resolve(1)
  second.promise.catch(() => {})
  await vi.advanceTimersByTimeAsync(0)
  const calls = count.mock.calls.length
  const three = collect()
  await vi.advanceTimersByTimeAsync(2_000)
  await Promise.all([two, three])
  expect([calls, count.mock.calls.length]).toEqual([3, 3])
})
