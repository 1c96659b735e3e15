import { expect, test, vi } from 'vitest'
import { createGate } from '../../src/gate.js'

/** Work that a test ends when it likes. */
function work() {
  let resolve = (): void => {}
  let reject = (_: Error): void => {}
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve: () => resolve(), reject: (error: Error) => reject(error) }
}

/** Lets every promise that can settle now do so. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function watch(closing: Promise<void>) {
  const closed = vi.fn()
  void closing.then(closed)
  return closed
}

test('a gate is open until it is closed, and closed at once', () => {
  const gate = createGate()
  expect(gate.closed).toBe(false)
  void gate.close()
  expect(gate.closed).toBe(true)
})

test('closing an empty gate, or one whose work is over, resolves', async () => {
  await expect(createGate().close()).resolves.toBeUndefined()
  const gate = createGate()
  gate.track(Promise.resolve())
  gate.track(Promise.reject(new Error('failed')))
  await turn()
  await expect(gate.close()).resolves.toBeUndefined()
})

test('closing waits for all work, whether it succeeds or fails', async () => {
  const gate = createGate()
  const [first, second] = [work(), work()]
  gate.track(first.promise)
  gate.track(second.promise)
  const closed = watch(gate.close())

  first.reject(new Error('failed'))
  await turn()
  expect(closed).not.toHaveBeenCalled()
  second.resolve()
  await turn()
  expect(closed).toHaveBeenCalledOnce()
})

test('closing waits for what the work starts while it is waited for', async () => {
  const gate = createGate()
  const [delivery, run, release] = [work(), work(), work()]
  gate.track(delivery.promise)
  void delivery.promise.then(() => gate.track(run.promise))
  void run.promise.then(() => gate.track(release.promise))
  const closed = watch(gate.close())

  delivery.resolve()
  await turn()
  run.resolve()
  await turn()
  expect(closed).not.toHaveBeenCalled()
  release.resolve()
  await turn()
  expect(closed).toHaveBeenCalledOnce()
})

test('every call of close waits', async () => {
  const gate = createGate()
  const { promise, resolve } = work()
  gate.track(promise)
  const [first, second] = [watch(gate.close()), watch(gate.close())]
  await turn()
  expect(first).not.toHaveBeenCalled()
  expect(second).not.toHaveBeenCalled()
  resolve()
  await turn()
  expect(first).toHaveBeenCalledOnce()
  expect(second).toHaveBeenCalledOnce()
})

test('work that is counted twice is waited for once', async () => {
  const gate = createGate()
  const { promise, resolve } = work()
  gate.track(promise)
  gate.track(promise)
  const closed = watch(gate.close())
  resolve()
  await turn()
  expect(closed).toHaveBeenCalledOnce()
})
