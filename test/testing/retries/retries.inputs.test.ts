import {
  type AnyAnswer,
  deliverWithRetries,
  type RetryOptions,
  type SignedDelivery,
  signedDelivery,
} from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'

/** Plain JavaScript, which may give anything. */
async function withArguments({ send = () => ({ status: 200 }), delivery, options }: Record<string, unknown>) {
  const signed = await signedDelivery('order.created', { secret: SECRET })
  return deliverWithRetries(
    send as () => AnyAnswer,
    (delivery === undefined ? signed : delivery) as SignedDelivery,
    options as RetryOptions,
  )
}

describe('a mistake is a TypeError that says which:', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'send that gives nothing',
      { send: () => {} },
      /^send must return the answer.+undefined\. Is a return missing\?$/,
    ],
    [
      'send that gives null',
      { send: async () => null },
      /^send must return the answer, with its status: it returned null/,
    ],
    ['send that gives no status', { send: () => ({ ok: true }) }, /it returned an object without one\.$/],
    ['a status that is text', { send: () => ({ status: '200' }) }, /it returned an object without one\.$/],
    ['no function', { send: 'send' }, /^send must be a function \(delivery\) => answer, not a string\.$/],
    [
      'no delivery',
      { delivery: null },
      /^delivery must be made by signedDelivery or signedBody.+not null\.$/,
    ],
    ['a delivery of a scenario', { delivery: { body: '{}', headers: {} } }, /^delivery must be made by/],
    [
      'a misspelt option',
      { options: { schedules: [5] } },
      /^There is no option schedules\. The options are schedule, clock\.$/,
    ],
    ['options that are null', { options: null }, /^options must be an object of schedule, clock/],
    [
      'a schedule that is a number',
      { options: { schedule: 5 } },
      /^schedule must be a list of seconds.+not a number\.$/,
    ],
    [
      'a schedule that is null',
      { options: { schedule: null } },
      /^schedule must be a list of seconds.+not null\.$/,
    ],
    ['a schedule that falls', { options: { schedule: [5, 4] } }, /^schedule must be.+not \[5, 4\]\.$/],
    ['a schedule that stays', { options: { schedule: [5, 5] } }, /^schedule must be.+not \[5, 5\]\.$/],
    ['a schedule that begins at 0', { options: { schedule: [0, 5] } }, /^schedule must be.+not \[0, 5\]\.$/],
    ['a schedule with text', { options: { schedule: [5, '60'] } }, /^schedule must be.+not \[5, "60"\]\.$/],
    [
      'a schedule without end',
      { options: { schedule: [5, Number.POSITIVE_INFINITY] } },
      /^schedule must be.+Infinity/,
    ],
    [
      'a clock that is only its now',
      { options: { clock: () => 0 } },
      /^clock must be the whole object that createTestClock returns, not a function\.$/,
    ],
    [
      'a clock without a time',
      { options: { clock: { advance() {} } } },
      /^clock must be the whole object that createTestClock returns/,
    ],
    [
      'a clock that cannot be advanced',
      { options: { clock: { now: () => 0 } } },
      /^clock must be the whole object that createTestClock returns/,
    ],
    [
      'a clock that is null',
      { options: { clock: null } },
      /^clock must be the whole object that createTestClock returns, not null\.$/,
    ],
  ])('%s', async (_, given, message) => {
    const delivering = withArguments(given)
    await expect(delivering).rejects.toThrow(TypeError)
    await expect(delivering).rejects.toThrow(message)
  })

  test('and nothing is sent before the options are known to be right', async () => {
    let sent = 0
    const send = () => {
      sent += 1
      return { status: 200 }
    }
    await expect(withArguments({ send, options: { schedule: [5, 4] } })).rejects.toThrow(TypeError)
    expect(sent).toBe(0)
  })
})
