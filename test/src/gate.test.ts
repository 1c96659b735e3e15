import { expect, test } from 'vitest'
import { createGate } from '../../src/receiver/drain.js'
import { deferred, turns, watch } from '../support/promises.js'

const LONG = { endsAtMs: performance.now() + 3_600_000 }

test('a gate is open until it is closed, and closed at once', () => {
  const gate = createGate()
  expect(gate.closed).toBe(false)
  void gate.close()
  expect(gate.closed).toBe(true)
})

test('closing an empty gate, or one whose work is over, resolves', async () => {
  await expect(createGate().close()).resolves.toBeUndefined()
  const gate = createGate()
  gate.track(Promise.resolve(), LONG)
  gate.track(Promise.reject(new Error('failed')), LONG)
  await turns(1)
  await expect(gate.close()).resolves.toBeUndefined()
})

test('closing waits for all work, whether it succeeds or fails', async () => {
  const gate = createGate()
  const [first, second] = [deferred(), deferred()]
  gate.track(first.promise, LONG)
  gate.track(second.promise, LONG)
  const closed = watch(gate.close())

  first.reject(new Error('failed'))
  await turns(1)
  expect(closed.isResolved).toBe(false)
  second.resolve()
  await turns(1)
  expect(closed.isResolved).toBe(true)
})

test('closing waits for what the work starts while it is waited for', async () => {
  const gate = createGate()
  const [delivery, run, release] = [deferred(), deferred(), deferred()]
  gate.track(delivery.promise, LONG)
  void delivery.promise.then(() => gate.track(run.promise, LONG))
  void run.promise.then(() => gate.track(release.promise, LONG))
  const closed = watch(gate.close())

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
  const gate = createGate()
  const { promise, resolve } = deferred()
  gate.track(promise, LONG)
  const [first, second] = [watch(gate.close()), watch(gate.close())]
  await turns(1)
  expect(first.isResolved).toBe(false)
  expect(second.isResolved).toBe(false)
  resolve()
  await turns(1)
  expect(first.isResolved).toBe(true)
  expect(second.isResolved).toBe(true)
})

test('work that is counted twice is waited for once', async () => {
  const gate = createGate()
  const { promise, resolve } = deferred()
  gate.track(promise, LONG)
  gate.track(promise, LONG)
  const closed = watch(gate.close())
  resolve()
  await turns(1)
  expect(closed.isResolved).toBe(true)
})
