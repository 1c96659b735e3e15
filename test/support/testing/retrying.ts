import {
  type AnyAnswer,
  createTestClock,
  deliverWithRetries,
  type RetryOptions,
  signedDelivery,
} from 'tix-webhooks/testing'
import { SECRET } from '../deliveries.js'

/** The attempts at an endpoint that gives these answers, and then refuses. */
export async function attemptsAt(answers: readonly AnyAnswer[], options: RetryOptions = {}) {
  const left = [...answers]
  const delivery = await signedDelivery('order.created', { secret: SECRET })
  return deliverWithRetries(() => left.shift() ?? { status: 500 }, delivery, {
    clock: createTestClock(),
    ...options,
  })
}

/** When they were made, in seconds after the first. */
export async function timesAt(answers: readonly AnyAnswer[], options: RetryOptions = {}): Promise<number[]> {
  return (await attemptsAt(answers, options)).map(({ afterSeconds }) => afterSeconds)
}
