import { answerTo, type Outcome, StoreError } from 'tix-webhooks'
import { expect, onTestFinished, test, vi } from 'vitest'
import { draining, outcomeOfFault, overloaded } from '../../../src/receiver/outcome.js'

// The statuses and headers of all outcomes are those of the table in docs/reference.md: test/repo/reference.test.ts.
test('an answer says the outcome alone, as JSON', () => {
  expect(answerTo({ outcome: 'in_flight', code: 'in_flight', retryAfterSeconds: 7 } as Outcome)).toEqual({
    status: 503,
    headers: { 'content-type': 'application/json', 'retry-after': '7' },
    body: '{"outcome":"in_flight"}',
  })
})

test.each([
  [undefined, 'close'],
  [1, 'close'],
  [3, undefined],
])('over HTTP/%s the header connection is %s', (httpVersionMajor, expected) => {
  expect(answerTo({ outcome: 'incomplete' }, { httpVersionMajor }).headers.connection).toBe(expected)
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
