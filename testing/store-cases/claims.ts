import { claimed, completed, inFlight, released } from './expected-answer.js'
import { advance, sequence } from './sequence.js'
import type { StoreCase } from './store-case.js'

/** The answers to `claim`. */
export const claimCases: readonly StoreCase[] = [
  sequence('claim-fresh', 'MUST grant an unknown key, as attempt 1.', ({ a }) => [a.claims(claimed(1))]),

  sequence(
    'claim-held',
    'MUST answer a claim with the rest of the lease while another token holds it.',
    ({ a, b }) => [a.claims(claimed(1)), b.claims(inFlight(30)), advance(20), b.claims(inFlight(10))],
  ),

  sequence('claim-held-kept', 'MUST NOT change a live lease on a claim by another token.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    advance(20),
    b.claims(inFlight(10), { lease: 60 }),
    c.claims(inFlight(10)),
    a.renews(true),
    a.completes(true),
  ]),

  sequence(
    'claim-completed',
    'MUST answer each claim of a completed record with completed.',
    ({ a, b, c }) => [
      a.claims(claimed(1)),
      a.completes(true),
      b.claims(completed),
      advance(100),
      c.claims(completed),
    ],
  ),

  sequence('claim-released', 'MUST grant a released record to another token at once.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.releases(true),
    b.claims(claimed(2)),
  ]),

  sequence(
    'claim-takeover',
    'MUST grant a record to another token when its lease has run out.',
    ({ a, b, c }) => [
      a.claims(claimed(1)),
      advance(25),
      b.claims(inFlight(5)),
      advance(10),
      b.claims(claimed(2)),
      c.claims(inFlight(30)),
    ],
  ),

  sequence(
    'claim-attempts',
    'MUST count the attempts across releases and leases that run out.',
    ({ a, b, c, d }) => [
      a.claims(claimed(1)),
      a.releases(true),
      b.claims(claimed(2)),
      advance(35),
      c.claims(claimed(3)),
      c.releases(true),
      advance(35),
      d.claims(claimed(4)),
    ],
  ),

  sequence('claim-terms', 'MUST grant each claim the lease that it asks for.', ({ a, b, c }) => [
    a.claims(claimed(1), { lease: 10 }),
    advance(15),
    b.claims(claimed(2), { lease: 90 }),
    advance(60),
    c.claims(inFlight(30)),
  ]),

  sequence('claim-resent', 'MUST repeat the grant when a claim is sent again while it runs.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.claims(claimed(1)),
    a.releases(true),
    b.claims(claimed(2)),
    b.claims(claimed(2)),
  ]),

  sequence('claim-resent-lease', 'MUST restart the lease when a claim is sent again.', ({ a, b }) => [
    a.claims(claimed(1)),
    advance(20),
    a.claims(claimed(1)),
    advance(20),
    b.claims(inFlight(10)),
    advance(15),
    b.claims(claimed(2)),
  ]),

  sequence(
    'claim-resent-late',
    'MUST repeat the grant to a token whose lease has run out, unless another has taken over.',
    ({ a, b }) => [a.claims(claimed(1)), advance(35), a.claims(claimed(1)), b.claims(inFlight(30))],
  ),

  sequence(
    'claim-resent-released',
    'MUST NOT grant a claim that arrives after the release of its own token, but answer in_flight for 1 ms.',
    ({ a, b }) => [
      a.claims(claimed(1)),
      a.releases(true),
      a.claims(released),
      a.renews(false),
      a.completes(false),
      b.claims(claimed(2)),
    ],
  ),

  sequence(
    'claim-resent-taken-over',
    'MUST leave the record to the new holder when the old one sends its claim again.',
    ({ a, b, c }, other) => [
      a.claims(claimed(1)),
      advance(35),
      b.claims(claimed(2)),
      a.claims(inFlight(30)),
      c.claims(inFlight(30)),
      b.renews(true),
      b.completes(true),
      other.a.claims(claimed(1)),
      other.a.releases(true),
      other.b.claims(claimed(2)),
      other.a.claims(inFlight(30)),
      other.b.completes(true),
    ],
  ),

  sequence(
    'claim-resent-completed',
    'MUST answer completed when a claim arrives after the completion of its own token.',
    ({ a, b }) => [a.claims(claimed(1)), a.completes(true), a.claims(completed), b.claims(completed)],
  ),
]
