import { answerTo } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { SECRET } from '../../../../test/support/deliveries.js'
import { retriedFailure } from '../../../cli/check/retried-failure.js'

/** Judges a receiver that answers thus, and then 500. */
async function judged(statuses: readonly (number | string)[], isUp = true) {
  const answers = statuses.values()
  return retriedFailure({
    signing: { secret: SECRET },
    isUp: async () => isUp,
    async send() {
      const { value = 500 } = answers.next()
      if (value === 'parked') return { response: { ...answerTo({ outcome: 'parked' }), truncated: false } }
      return typeof value === 'number'
        ? { response: { status: value, headers: {}, body: '', truncated: false } }
        : { error: { code: value, message: value } }
    },
  })
}

test.each<[string, number[], string]>([
  ['two failures and two acknowledgements', [500, 200, 500, 200], '500 and then 200 to the same event: it'],
  ['a failure that is a 4xx', [404, 204, 404, 204], '404 and then 204 to the same event: it'],
  ['the second order alone', [422, 422, 500, 200, 500, 200], '500 and then 200 to the same event: it'],
  [
    'the answer to a duplicate',
    [500, 409, 200, 409, 500, 409],
    '409 to the same event, as it does to one that was',
  ],
])('%s: it marks first', async (_, statuses, advice) => {
  expect(await judged(statuses)).toMatchObject({
    passed: false,
    got: statuses.slice(-2).map(String),
    consequence: 'loses_events',
    advice: expect.stringContaining(advice),
  })
})

test.each<[string, (number | string)[], string]>([
  [
    'a failure that is parked',
    [500, 'parked', 500, 'parked'],
    'It answers 500 and then 200 parked to an order',
  ],
  ['acknowledgements', [200, 200], 'Nothing made its handler fail'],
  ['failures', [500, 500, 500, 500], 'It may have failed before its handler ran'],
  ['one acknowledged retry', [500, 200, 500, 500], 'It answers 500 and then 200 to the same event, which'],
  ['a limit of requests', [429, 200, 429, 200], 'It answers 429 and then 200 to the same event, which'],
  ['a limit at the retry', [500, 429, 500, 429], 'It answers 500 and then 429 to the same event, which'],
  ['a lock', [500, 409, 200, 200, 500, 409], 'It answers 500 and then 409 to the same event, which'],
  ['no order that is handled', [500, 409, 500, 409], 'It answers 500 and then 409 to the same event, which'],
])('%s: nothing is proved, and that is said', async (_, statuses, note) => {
  expect(await judged(statuses)).toMatchObject({ passed: true, note: expect.stringContaining(note) })
})

test.each([
  [true, 'undecided'],
  [false, 'crashes'],
])('no answer, and up afterwards or not: %j', async (isUp, consequence) => {
  expect(await judged([500, 'ECONNRESET'], isUp)).toMatchObject({
    passed: false,
    got: ['500', 'ECONNRESET'],
    consequence,
  })
})
