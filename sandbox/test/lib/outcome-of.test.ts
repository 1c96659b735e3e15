import { answerTo, type OutcomeName } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { outcomeOf } from '../../lib/outcome-of.js'

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
