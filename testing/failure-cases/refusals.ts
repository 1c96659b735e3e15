import type { FailureQuery } from '../../src/index.js'
import type { FailureCaseRunner } from './case-runner.js'
import { describeValue } from './expected-failure.js'
import { defineCase, type FailureCase } from './failure-case.js'

type Method = 'list' | 'groups' | 'count'

const FILTERS: readonly object[] = [
  { state: 'new' },
  { kind: 5 },
  { account: null },
  { eventId: ['evt_1'] },
  { event_id: 'evt_1' },
]
const LIMITS: readonly object[] = [
  { limit: 0 },
  { limit: 1_001 },
  { limit: 1.5 },
  { limit: '5' },
  { limit: Number.NaN },
]
const POSITIONS: readonly object[] = [
  { order: 'latest' },
  { before: '2026-01-01' },
  { before: new Date(Number.NaN) },
  { after: { key: 'a' } },
  { after: 5 },
]

async function expectRefusals(
  runner: FailureCaseRunner,
  method: Method,
  queries: readonly object[],
): Promise<void> {
  for (const query of queries) {
    const label = `${method} ${describeValue(query)}`
    const end = await runner.call(label, async (failures) => {
      try {
        await failures[method](query as FailureQuery)
        return 'no error'
      } catch (error) {
        return error
      }
    })
    if (!(end instanceof TypeError)) {
      runner.fail(
        `${label}: expected a TypeError, but there was ${end instanceof Error ? `${end.name}: ${end.message}` : end}`,
      )
    }
  }
}

/** Queries that only a faulty program makes. */
export const refusalCases: readonly FailureCase[] = [
  defineCase('invalid-list', 'SHOULD reject an invalid query of a list with a TypeError.', (runner) =>
    expectRefusals(runner, 'list', [...FILTERS, ...LIMITS, ...POSITIONS]),
  ),
  defineCase('invalid-groups', 'SHOULD reject an invalid query of groups with a TypeError.', (runner) =>
    expectRefusals(runner, 'groups', [...FILTERS, ...LIMITS, { order: 'oldest' }]),
  ),
  defineCase('invalid-count', 'SHOULD reject an invalid filter of a count with a TypeError.', (runner) =>
    expectRefusals(runner, 'count', [...FILTERS, { limit: 5 }]),
  ),
]
