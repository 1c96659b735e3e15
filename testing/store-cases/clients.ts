import { claimed, completed, inFlight } from './expected-answer.js'
import { advance, onSecond, purge, sequence } from './sequence.js'
import type { StoreCase } from './store-case.js'

/** Above the tolerance of answers, and below the five minutes at which a cloud refuses signed requests. */
const SKEW = 4
/** Less than the clocks differ by. */
const BRIEF = { lease: 3, kept: 3 }

/** A lease and retentions between two processes whose clocks differ. */
function clockCase(id: string, name: string, skew: number): StoreCase {
  return sequence(
    id,
    name,
    ({ a, b, c }, other) => [
      a.claims(claimed(1), BRIEF),
      onSecond(b.claims(inFlight(BRIEF.lease), BRIEF)),
      onSecond(a.renews(true, BRIEF.lease)),
      b.claims(inFlight(BRIEF.lease), BRIEF),
      onSecond(a.completes(true, BRIEF.kept)),
      b.claims(completed, BRIEF),
      onSecond(other.a.claims(claimed(1), BRIEF)),
      other.b.claims(inFlight(BRIEF.lease), BRIEF),
      other.a.completes(true, BRIEF.kept),
      purge,
      onSecond(other.b.claims(completed, BRIEF)),
      onSecond(c.claims(completed, BRIEF)),
      advance(BRIEF.kept + 0.5),
      b.claims(claimed(1)),
      // Absent by now.
      onSecond(other.b.completes(true, BRIEF.kept)),
      other.c.claims(completed),
    ],
    skew,
  )
}

/** Two processes with one backend. */
export const clientCases: readonly StoreCase[] = [
  sequence(
    'client-records',
    'MUST share its records with every client of its backend.',
    ({ a, b }, other) => [
      a.claims(claimed(1)),
      onSecond(b.claims(inFlight(30))),
      advance(20),
      onSecond(a.renews(true)),
      b.claims(inFlight(30)),
      onSecond(a.completes(true)),
      b.claims(completed),
      onSecond(b.claims(completed)),
      other.a.claims(claimed(1)),
      onSecond(other.a.releases(true)),
      other.a.renews(false),
      onSecond(other.b.claims(claimed(2))),
      other.a.completes(false),
      other.c.claims(inFlight(30)),
      onSecond(other.b.releases(true)),
      other.c.claims(claimed(3)),
    ],
  ),

  clockCase('clock-ahead', `MUST NOT depend on the clock of a process that is ${SKEW} minutes ahead.`, SKEW),

  clockCase(
    'clock-behind',
    `MUST NOT depend on the clock of a process that is ${SKEW} minutes behind.`,
    -SKEW,
  ),
]
