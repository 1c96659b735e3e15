import { RetryLater, type WebhookOptions } from 'tix-webhooks'
import { createTestClock, deliverWithRetries, signedDelivery } from 'tix-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { ADAPTERS } from '../support/adapter-harnesses.js'
import { SECRET } from '../support/deliveries.js'

// Each client has the headers of its answer in a form of its own: all must give the Retry-After.
test.each(ADAPTERS)('a failure and a RetryLater are retried on %s', async (_, harness) => {
  const clock = createTestClock()
  const attempted: unknown[] = []
  const on: WebhookOptions['on'] = {
    'order.created': (_event, { attempt, signedAt }) => {
      attempted.push([attempt, signedAt.getTime() - clock.now()])
      if (attempt === 1) throw new Error('not yet')
      if (attempt === 2) throw new RetryLater({ afterSeconds: 120 })
    },
  }
  const { send, close } = await harness.mount({ secret: SECRET, on, now: clock.now, onError: () => {} })
  onTestFinished(async () => void (await close()))
  const delivery = await signedDelivery('order.created', { secret: SECRET })
  const attempts = await deliverWithRetries(send, delivery, { clock })
  expect(attempts.map(({ afterSeconds, status }) => [afterSeconds, status])).toEqual([
    [0, 500],
    [5, 503],
    [125, 200],
  ])
  expect(attempted).toEqual([
    [1, 0],
    [2, 0],
    [3, 0],
  ])
})
