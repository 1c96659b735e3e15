import { afterEach, expect, test, vi } from 'vitest'
import { isPromise, whenSettled } from '../../../src/lib/maybe-promise.js'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'

afterEach(() => {
  vi.unstubAllGlobals()
})

/** A library's replacement for the global one. */
class Foreign<T> extends Promise<T> {}

test('what is there is not pending, whatever it is', () => {
  for (const value of [undefined, null, 0, '', 'then', [], {}, JSON.parse('{"then":1}'), new Uint8Array()]) {
    expect(isPromise<unknown>(value)).toBe(false)
  }
  expect(isPromise(Promise.resolve())).toBe(true)
  expect(isPromise(Foreign.resolve())).toBe(true)
})

test('what is made of a value is there at once, and of a promise it is promised', async () => {
  expect(whenSettled(1, (value) => value + 1)).toBe(2)
  await expect(whenSettled(Promise.resolve(1), (value) => value + 1)).resolves.toBe(2)
})

test('a delivery is handled where another Promise is in the place of the one of the language', async () => {
  const { header, body } = await sign(orderCreated())
  const { receiver } = receiving({ secret: async () => SECRET, on: { 'order.created': async () => {} } })
  vi.stubGlobal('Promise', Foreign)
  const answer = receiver.receive({ header, body: async () => body, request: null })
  expect(await answer).toEqual({ outcome: 'handled' })
})
