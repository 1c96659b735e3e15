import type { ClaimResult } from '../../src/index.js'
import type { Step } from './case-runner.js'
import { claimed, completed, describeAnswer, inFlight, released } from './expected-answer.js'
import { createHolders } from './sequence.js'
import { defineCase, type StoreCase } from './store-case.js'

/** The fields of each answer. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  claimed: ['attempt', 'status'],
  completed: ['status'],
  in_flight: ['retryAfterMs', 'status'],
}

/** A sequence in which each answer occurs. */
function everyAnswer(): Step[] {
  const { a, b, c } = createHolders()
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

/** The arguments and the answers of a call. */
export const callCases: readonly StoreCase[] = [
  defineCase('call-frozen', 'MUST NOT change its arguments.', async (runner) => {
    for (const step of everyAnswer()) await runner.run({ ...step, isFrozen: true })
  }),

  defineCase('call-fields', 'SHOULD answer a claim with only the fields of the contract.', async (runner) => {
    for (const step of everyAnswer()) {
      const answer = await runner.run(step)
      if (typeof answer !== 'object' || answer === null) continue
      const fields = FIELDS[(answer as ClaimResult).status] ?? []
      const odd = Object.keys(answer).filter((field) => !fields.includes(field))
      if (odd.length > 0) {
        runner.fail(
          `${step.label}: expected nothing but ${fields.join(' and ')}, but it returned ${odd.join(' and ')} too: ${describeAnswer(answer)}`,
        )
      }
    }
  }),
]
