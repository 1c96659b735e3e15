import type { ClaimResult } from '../../src/index.js'
import type { Move } from './case-runner.js'
import { claimed, completed, describeAnswer, inFlight, released } from './expected-answer.js'
import { newCast } from './sequence.js'
import { defineCase, type StoreCase } from './store-case.js'

/** What each answer consists of. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  claimed: ['attempt', 'status'],
  completed: ['status'],
  'in-flight': ['retryAfterMs', 'status'],
}

/** A history in which there is every answer. */
function everyAnswer(): Move[] {
  const { a, b, c } = newCast()
  return [
    a.claims(claimed(1)),
    b.claims(inFlight(30)),
    a.renews(true),
    a.releases(true),
    a.claims(released),
    b.claims(claimed(2)),
    a.completes(false),
    b.completes(true),
    c.claims(completed),
  ]
}

function freeze({ step, ...move }: Move): Move {
  if (step.do === 'claim') Object.freeze(step.request)
  else if (step.do !== 'advance') Object.freeze(step.lease)
  return { ...move, step }
}

/** What goes into a call, and what comes out of it. */
export const callCases: readonly StoreCase[] = [
  defineCase('call-frozen', 'MUST NOT change its arguments.', async (trial) => {
    for (const move of everyAnswer()) await trial.take(freeze(move))
  }),

  defineCase('call-fields', 'SHOULD answer a claim with only the fields of the contract.', async (trial) => {
    for (const move of everyAnswer()) {
      const answer = await trial.take(move)
      if (typeof answer !== 'object' || answer === null) continue
      const fields = FIELDS[(answer as ClaimResult).status] ?? []
      const odd = Object.keys(answer).filter((field) => !fields.includes(field))
      if (odd.length > 0) {
        trial.fail(
          `${move.told}: expected nothing but ${fields.join(' and ')}, but it returned ${odd.join(' and ')} too: ${describeAnswer(answer)}`,
        )
      }
    }
  }),
]
