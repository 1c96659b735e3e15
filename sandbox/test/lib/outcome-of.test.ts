import { answerTo, type OutcomeName } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { answerText, isHandled, isParked, outcomeOf } from '../../lib/outcome-of.js'

/** All of them: the type check fails if one is missing. */
const OUTCOMES = {
  handled: true,
  duplicate: true,
  unhandled: true,
  discarded: true,
  malformed: true,
  incomplete: true,
  unauthenticated: true,
  method_not_allowed: true,
  too_large: true,
  failed: true,
  unprocessable: true,
  misconfigured: true,
  parked: true,
  in_flight: true,
  timed_out: true,
  retry_later: true,
  unavailable: true,
  overloaded: true,
} satisfies Record<OutcomeName, true>

test.each(Object.keys(OUTCOMES) as OutcomeName[])('finds %s in the answer of a receiver', (outcome) => {
  expect(outcomeOf(answerTo({ outcome }).body)).toBe(outcome)
})

test.each(['', 'ok', '{}', '{"outcome":1}', '{"outcome":"handled","id":1}', '[{"outcome":"handled"}]'])(
  'finds none in %j',
  (body) => {
    expect(outcomeOf(body)).toBeUndefined()
  },
)

test.each(Object.keys(OUTCOMES) as OutcomeName[])(
  'takes %s for handled if it is a 2xx, and not parked',
  (outcome) => {
    const { status, body } = answerTo({ outcome })
    expect(isParked({ status, body })).toBe(outcome === 'parked')
    expect(isHandled({ status, body })).toBe(status === 200 && outcome !== 'parked')
  },
)

test('no answer is neither handled nor parked, and a status of another receiver is taken at its word', () => {
  expect([isHandled(undefined), isParked(undefined)]).toEqual([false, false])
  expect([204, 301, 500].map((status) => isHandled({ status, body: '' }))).toEqual([true, false, false])
  expect(isParked({ status: 500, body: '{"outcome":"parked"}' })).toBe(false)
})

test('an answer in words', () => {
  expect(answerText({ response: answerTo({ outcome: 'parked' }) })).toBe('200 parked')
  expect(answerText({ response: answerTo({ outcome: 'handled' }) })).toBe('200')
  expect(answerText({ error: { code: 'ECONNREFUSED' } })).toBe('ECONNREFUSED')
})
