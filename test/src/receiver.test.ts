import { answerTo, createReceiver } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'

test('a signed order is handled once', async () => {
  const seen: unknown[] = []
  const receiver = createReceiver({
    secret: SECRET,
    on: { 'order.created': (event) => seen.push(event.data.order.id) },
  })
  const delivery = { ...(await sign(orderCreated())), request: null }

  expect(answerTo(await receiver.receive(delivery))).toMatchObject({
    status: 200,
    body: '{"outcome":"handled"}',
  })
  expect(answerTo(await receiver.receive(delivery))).toMatchObject({
    status: 200,
    body: '{"outcome":"duplicate"}',
  })
  expect(seen).toHaveLength(1)
})
