import { answerTo, type Outcome, StoreError } from 'tix-webhooks'
import { expect, onTestFinished, test, vi } from 'vitest'
import { draining, outcomeOfDenial, outcomeOfFault, overloaded } from '../../../src/receiver/outcome.js'

/** The table of answers in the README. */
const ANSWERS: [Outcome, number, Record<string, string>][] = [
  [{ outcome: 'handled' }, 200, {}],
  [{ outcome: 'duplicate' }, 200, {}],
  [{ outcome: 'unhandled' }, 200, {}],
  [{ outcome: 'discarded' }, 200, {}],
  [{ outcome: 'malformed' }, 400, {}],
  [{ outcome: 'incomplete' }, 400, { connection: 'close' }],
  [{ outcome: 'unauthenticated' }, 401, {}],
  [{ outcome: 'method_not_allowed' }, 405, { allow: 'POST' }],
  [{ outcome: 'too_large' }, 413, {}],
  [{ outcome: 'failed' }, 500, {}],
  [{ outcome: 'unprocessable' }, 500, {}],
  [{ outcome: 'misconfigured' }, 500, {}],
  [{ outcome: 'in_flight', retryAfterSeconds: 7 }, 503, { 'retry-after': '7' }],
  [{ outcome: 'timed_out', retryAfterSeconds: 5 }, 503, { 'retry-after': '5' }],
  [{ outcome: 'retry_later', retryAfterSeconds: 90 }, 503, { 'retry-after': '90' }],
  [{ outcome: 'unavailable', retryAfterSeconds: 5 }, 503, { 'retry-after': '5' }],
  [{ outcome: 'overloaded', retryAfterSeconds: 30 }, 503, { 'retry-after': '30' }],
]

test.each(ANSWERS)('%o is answered with its own status, headers and name', (outcome, status, headers) => {
  expect(answerTo(outcome)).toEqual({
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: `{"outcome":"${outcome.outcome}"}`,
  })
})

test.each([
  [undefined, 'close'],
  [1, 'close'],
  [3, undefined],
])('over HTTP/%s the header connection is %s', (httpVersionMajor, expected) => {
  expect(answerTo({ outcome: 'incomplete' }, { httpVersionMajor }).headers.connection).toBe(expected)
})

test.each([
  [0, 1],
  [1, 1],
  [1_001, 2],
  [29_500, 30],
  [60_000, 30],
])('a lease with %d ms left is worth a Retry-After of %d s', (ms, seconds) => {
  expect(outcomeOfDenial({ status: 'in_flight', retryAfterMs: ms }).retryAfterSeconds).toBe(seconds)
})

test.each<[string, () => Outcome, number]>([
  ['overloaded', overloaded, 15],
  ['draining', draining, 15],
  ['an outage', () => outcomeOfFault(new StoreError('store_unavailable', 'down')), 15],
])('the Retry-After of %s is spread evenly over whole seconds from 5 to a maximum', (_, make, max) => {
  const random = vi.spyOn(Math, 'random')
  onTestFinished(() => random.mockRestore())
  const count = max - 5 + 1
  const delays = Array.from({ length: count }, (_, i) => {
    // The least and the greatest that give this second.
    const ends = [i / count + 1e-9, (i + 1) / count - 1e-9]
    return ends.map((value) => {
      random.mockReturnValue(value)
      return make().retryAfterSeconds
    })
  })
  expect(delays).toEqual(delays.map((_, i) => [5 + i, 5 + i]))
})
