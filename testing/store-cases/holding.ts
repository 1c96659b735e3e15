import { claimed, completed, inFlight, released } from './expected-answer.js'
import { advance, sequence } from './sequence.js'
import type { StoreCase } from './store-case.js'

/** `renew`, `complete` and `release`, by the holder and by other tokens. */
export const holdingCases: readonly StoreCase[] = [
  sequence('renew-holder', 'MUST grant the holder that renews a new lease from now.', ({ a, b }) => [
    a.claims(claimed(1)),
    advance(20),
    a.renews(true),
    advance(20),
    b.claims(inFlight(10)),
    a.renews(true, 90),
    b.claims(inFlight(90)),
    advance(95),
    b.claims(claimed(2)),
  ]),

  sequence('renew-shorter', 'MUST use the lease of a renewal even if it is shorter.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.renews(true, 10),
    b.claims(inFlight(10)),
    advance(15),
    b.claims(claimed(2)),
  ]),

  sequence(
    'renew-late',
    'MUST renew a lease that has run out, unless another token has taken over.',
    ({ a, b }) => [a.claims(claimed(1)), advance(35), a.renews(true), b.claims(inFlight(30))],
  ),

  sequence('renew-stranger', 'MUST NOT let another token renew a lease.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    advance(20),
    b.renews(false),
    c.claims(inFlight(10)),
    advance(15),
    b.renews(false),
    a.completes(true),
  ]),

  sequence('renew-taken-over', 'MUST NOT let the old holder renew after a takeover.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    advance(35),
    b.claims(claimed(2)),
    advance(10),
    a.renews(false),
    c.claims(inFlight(20)),
    b.completes(true),
  ]),

  sequence('renew-released', 'MUST NOT renew a released record.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.releases(true),
    a.renews(false),
    b.claims(claimed(2)),
  ]),

  sequence('renew-completed', 'MUST NOT renew a completed record.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.completes(true),
    a.renews(false),
    b.claims(completed),
  ]),

  sequence('renew-absent', 'MUST NOT create a record on a renewal.', ({ a, b }) => [
    a.renews(false),
    b.claims(claimed(1)),
  ]),

  sequence('complete-resent', 'MUST answer true when complete is sent again.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.completes(true),
    a.completes(true),
    b.claims(completed),
  ]),

  sequence(
    'complete-late',
    'MUST complete after the lease, unless another token has taken over.',
    ({ a, b }) => [a.claims(claimed(1)), advance(35), a.completes(true), b.claims(completed)],
  ),

  sequence('complete-stranger', 'MUST NOT let another token complete.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    b.completes(false),
    c.claims(inFlight(30)),
    a.completes(true),
    b.completes(false),
  ]),

  sequence('complete-taken-over', 'MUST NOT let the old holder complete after a takeover.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    advance(35),
    b.claims(claimed(2)),
    a.completes(false),
    c.claims(inFlight(30)),
    b.completes(true),
  ]),

  sequence('complete-released', 'MUST NOT complete a record that its own token has released.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.releases(true),
    a.completes(false),
    b.claims(claimed(2)),
  ]),

  sequence(
    'complete-absent',
    'MUST record a completion for which there is no record, and keep it like any other.',
    ({ a, b, c }) => [
      a.completes(true),
      a.completes(true),
      b.claims(completed),
      b.completes(false),
      a.releases(false),
      advance(1005),
      c.claims(claimed(1)),
    ],
  ),

  sequence(
    'complete-absent-taken',
    'MUST NOT accept a completion from a token without a record while another has one.',
    ({ a, b, c }) => [
      b.claims(claimed(1)),
      a.completes(false),
      advance(35),
      a.completes(false),
      b.releases(true),
      a.completes(false),
      c.claims(claimed(2)),
    ],
  ),

  sequence('release-resent', 'MUST answer true when release is sent again.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.releases(true),
    a.releases(true),
    b.claims(claimed(2)),
  ]),

  sequence(
    'release-late',
    'MUST release after the lease, unless another token has taken over.',
    ({ a, b }) => [
      a.claims(claimed(1)),
      advance(35),
      a.releases(true),
      a.claims(released),
      b.claims(claimed(2)),
    ],
  ),

  sequence('release-stranger', 'MUST NOT let another token release.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    b.releases(false),
    c.claims(inFlight(30)),
    a.completes(true),
  ]),

  sequence('release-taken-over', 'MUST NOT let the old holder release after a takeover.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    a.releases(true),
    b.claims(claimed(2)),
    a.releases(false),
    c.claims(inFlight(30)),
    advance(35),
    c.claims(claimed(3)),
    b.releases(false),
    c.completes(true),
  ]),

  sequence('release-completed', 'MUST NOT release a completed record.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.completes(true),
    a.releases(false),
    b.claims(completed),
  ]),

  sequence('release-absent', 'MUST NOT create a record on a release.', ({ a }) => [
    a.releases(false),
    a.claims(claimed(1)),
  ]),
]
