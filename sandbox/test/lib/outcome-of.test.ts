import { answerTo, type OutcomeName } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { answerText, isHandled, isParked, outcomeOf } from '../../lib/outcome-of.js'

/** All of them: the type check fails if one is missing. `parked` is a 200, but not handled. */
const OUTCOMES: Record<OutcomeName, 'handled' | 'parked' | undefined> = {
  ...{
    handled: 'handled',
    duplicate: 'handled',
    unhandled: 'handled',
    discarded: 'handled',
    parked: 'parked',
  },
  ...{ malformed: undefined, incomplete: undefined, unauthenticated: undefined, too_large: undefined },
  ...{ method_not_allowed: undefined, failed: undefined, unprocessable: undefined, timed_out: undefined },
  ...{ misconfigured: undefined, in_flight: undefined, retry_later: undefined, unavailable: undefined },
  overloaded: undefined,
}

test.each(Object.entries(OUTCOMES))('the answer of %s is %s', (outcome, meaning) => {
  const answer = answerTo({ outcome: outcome as OutcomeName })
  expect(outcomeOf(answer.body)).toBe(outcome)
  expect([isHandled(answer), isParked(answer)]).toEqual([meaning === 'handled', meaning === 'parked'])
})

test.each(['', 'ok', '{}', '{"outcome":1}', '{"outcome":"handled","id":1}', '[{"outcome":"handled"}]'])(
  '%j has no outcome',
  (body) => expect(outcomeOf(body)).toBeUndefined(),
)

test('no answer is neither handled nor parked, and that of another receiver counts by its status', () => {
  expect([isHandled(undefined), isParked(undefined)]).toEqual([false, false])
  expect([204, 301, 500].map((status) => isHandled({ status, body: '' }))).toEqual([true, false, false])
  expect(isParked({ status: 500, body: '{"outcome":"parked"}' })).toBe(false)
})

test('an answer in words', () => {
  expect(answerText({ response: answerTo({ outcome: 'parked' }) })).toBe('200 parked')
  expect(answerText({ response: answerTo({ outcome: 'handled' }) })).toBe('200')
  expect(answerText({ error: { code: 'ECONNREFUSED' } })).toBe('ECONNREFUSED')
})
