import { expect, test } from 'vitest'
import { Drain } from '../../../../src/receiver/operation/drain.js'
import { deferred, turns, watch } from '../../../support/promises.js'

const LONG = { endsAtMs: performance.now() + 3_600_000 }

test('a drain is open until it is closed, and closed at once', () => {
  const drain = new Drain()
  expect(drain.isClosed).toBe(false)
  void drain.close()
  expect(drain.isClosed).toBe(true)
})

test('closing an empty drain, or one whose work is over, resolves', async () => {
  await expect(new Drain().close()).resolves.toBeUndefined()
  const drain = new Drain()
  drain.track(Promise.resolve(), LONG)
  drain.track(Promise.reject(new Error('failed')), LONG)
  await turns(1)
  await expect(drain.close()).resolves.toBeUndefined()
})

test('closing waits for all work, whether it succeeds or fails', async () => {
  const drain = new Drain()
  const [first, second] = [deferred(), deferred()]
  drain.track(first.promise, LONG)
  drain.track(second.promise, LONG)
  const closed = watch(drain.close())

  first.reject(new Error('failed'))
  await turns(1)
  expect(closed.isResolved).toBe(false)
  second.resolve()
  await turns(1)
  expect(closed.isResolved).toBe(true)
})

test('closing waits for what the work starts while it is waited for', async () => {
  const drain = new Drain()
  const [delivery, run, release] = [deferred(), deferred(), deferred()]
  drain.track(delivery.promise, LONG)
  void delivery.promise.then(() => drain.track(run.promise, LONG))
  void run.promise.then(() => drain.track(release.promise, LONG))
  const closed = watch(drain.close())

  delivery.resolve()
  await turns(1)
  run.resolve()
  await turns(1)
  expect(closed.isResolved).toBe(false)
  release.resolve()
  await turns(1)
  expect(closed.isResolved).toBe(true)
})

test('every call of close waits', async () => {
  const drain = new Drain()
  const { promise, resolve } = deferred()
  drain.track(promise, LONG)
  const [first, second] = [watch(drain.close()), watch(drain.close())]
  await turns(1)
  expect(first.isResolved).toBe(false)
  expect(second.isResolved).toBe(false)
  resolve()
  await turns(1)
  expect(first.isResolved).toBe(true)
  expect(second.isResolved).toBe(true)
})

test('work that is counted twice is waited for once', async () => {
  const drain = new Drain()
  const { promise, resolve } = deferred()
  drain.track(promise, LONG)
  drain.track(promise, LONG)
  const closed = watch(drain.close())
  resolve()
  await turns(1)
  expect(closed.isResolved).toBe(true)
})
