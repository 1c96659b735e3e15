import { claimed, completed, inFlight } from './expected-answer.js'
import { advance, onSecond, purge, sequence } from './sequence.js'
import type { StoreCase } from './store-case.js'

/** Records that a purge must leave. Without a purge they test nothing. */
export const purgingCases: readonly StoreCase[] = [
  sequence(
    'purge-running',
    'MUST NOT purge a running record, whether its lease is over or not.',
    ({ a, b }, other) => [
      a.claims(claimed(1)),
      other.a.claims(claimed(1)),
      purge,
      b.claims(inFlight(30)),
      advance(35),
      purge,
      a.renews(true),
      onSecond(other.b.claims(claimed(2))),
    ],
  ),

  sequence(
    'purge-released',
    'MUST NOT purge a released record, which has the attempts, before its retention is over.',
    ({ a, b, c }, other) => [
      a.claims(claimed(1), { kept: 100 }),
      a.releases(true),
      other.a.claims(claimed(1)),
      other.a.releases(true),
      advance(90),
      b.claims(claimed(2)),
      b.releases(true),
      advance(800),
      purge,
      c.claims(claimed(3)),
      onSecond(other.b.claims(claimed(2))),
    ],
  ),

  sequence(
    'purge-completed',
    'MUST NOT purge a completed record before its retention is over.',
    ({ a, b, c }, other) => [
      a.claims(claimed(1), { kept: 100 }),
      a.completes(true),
      other.a.completes(true),
      advance(600),
      a.completes(true),
      advance(390),
      purge,
      b.claims(completed),
      onSecond(other.b.claims(completed)),
      advance(15),
      purge,
      onSecond(b.claims(completed)),
      other.c.claims(claimed(1)),
      advance(605),
      purge,
      c.claims(claimed(1)),
    ],
  ),
]
