import { afterEach, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'

afterEach(() => {
  vi.unstubAllGlobals()
})

/** A library's replacement for the global one. */
class Foreign<T> extends Promise<T> {}

test('a delivery is handled where another Promise is in the place of the one of the language', async () => {
  const { header, body } = await sign(orderCreated())
  const { receiver } = receiving({ secret: async () => SECRET, on: { 'order.created': async () => {} } })
  vi.stubGlobal('Promise', Foreign)
  const answer = receiver.receive({ header, body: async () => body, request: null })
  expect(await answer).toEqual({ outcome: 'handled' })
})
