import { RetryLater, type WebhookOptions } from 'tix-webhooks'
import { createTestClock, deliverWithRetries, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ADAPTERS } from '../../support/adapter-harnesses.js'
import { SECRET } from '../../support/deliveries.js'

/** A handler that throws this often before it works, and the minutes of virtual time at which it had worked. */
function failing(times: number, fault = new Error('not yet')) {
  const clock = createTestClock()
  const startMs = clock.now()
  const started: unknown[] = []
  const completed: number[] = []
  const on: WebhookOptions['on'] = {
    'order.created': (_event, { attempt, signedAt }) => {
      started.push([attempt, signedAt.getTime() - clock.now()])
      if (started.length <= times) throw fault
      completed.push((clock.now() - startMs) / 60_000)
    },
  }
  return { clock, started, completed, options: { secret: SECRET, on, now: clock.now, onError: () => {} } }
}

describe.each(ADAPTERS)('on %s', (_name, harness) => {
  test('fails twice, then works: the handler ran once to completion, at virtual minute 1', async () => {
    const { clock, started, completed, options } = failing(2)
    const { send, close } = await harness.mount(options)
    onTestFinished(async () => void (await close()))
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    const attempts = await deliverWithRetries(send, delivery, { clock })
    expect(attempts.map(({ afterSeconds, status }) => [afterSeconds, status])).toEqual([
      [0, 500],
      [5, 500],
      [60, 200],
    ])
    expect(started).toEqual([
      [1, 0],
      [2, 0],
      [3, 0],
    ])
    expect(completed).toEqual([1])
  })

  test('a handler that asks for two minutes is given them', async () => {
    const { clock, completed, options } = failing(1, new RetryLater({ afterSeconds: 120 }))
    const { send, close } = await harness.mount(options)
    onTestFinished(async () => void (await close()))
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    const attempts = await deliverWithRetries(send, delivery, { clock })
    expect(attempts.map(({ afterSeconds, status }) => [afterSeconds, status])).toEqual([
      [0, 503],
      [120, 200],
    ])
    expect(completed).toEqual([2])
  })

  test('three days of failures are over at once, and refused by none of its checks', async () => {
    const { clock, started, options } = failing(99)
    const { send, close } = await harness.mount(options)
    onTestFinished(async () => void (await close()))
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    const attempts = await deliverWithRetries(send, delivery, { clock })
    expect(attempts.map(({ status }) => status)).toEqual(Array(11).fill(500))
    expect(started).toHaveLength(11)
  })
})
