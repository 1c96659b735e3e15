import { claimed, completed, inFlight, released } from './expected-answer.js'
import { pass, story } from './sequence.js'
import type { StoreCase } from './store-case.js'

/** What `renew`, `complete` and `release` do for the holder, and for anybody else. */
export const holdingCases: readonly StoreCase[] = [
  story('renew-holder', 'MUST grant the holder that renews a new lease from now.', ({ a, b }) => [
    a.claims(claimed(1)),
    pass(20),
    a.renews(true),
    pass(20),
    b.claims(inFlight(10)),
    a.renews(true, 90),
    b.claims(inFlight(90)),
    pass(95),
    b.claims(claimed(2)),
  ]),

  story('renew-shorter', 'MUST use the lease of a renewal even if it is shorter.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.renews(true, 10),
    b.claims(inFlight(10)),
    pass(15),
    b.claims(claimed(2)),
  ]),

  story(
    'renew-late',
    'MUST renew a lease that has run out, unless another token has taken over.',
    ({ a, b }) => [a.claims(claimed(1)), pass(35), a.renews(true), b.claims(inFlight(30))],
  ),

  story('renew-stranger', 'MUST NOT let another token renew a lease.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    pass(20),
    b.renews(false),
    c.claims(inFlight(10)),
    pass(15),
    b.renews(false),
    a.completes(true),
  ]),

  story('renew-taken-over', 'MUST NOT let the old holder renew after a takeover.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    pass(35),
    b.claims(claimed(2)),
    pass(10),
    a.renews(false),
    c.claims(inFlight(20)),
    b.completes(true),
  ]),

  story('renew-released', 'MUST NOT renew a released record.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.releases(true),
    a.renews(false),
    b.claims(claimed(2)),
  ]),

  story('renew-completed', 'MUST NOT renew a completed record.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.completes(true),
    a.renews(false),
    b.claims(completed),
  ]),

  story('renew-absent', 'MUST NOT create a record on a renewal.', ({ a, b }) => [
    a.renews(false),
    b.claims(claimed(1)),
  ]),

  story('complete-resent', 'MUST answer true when complete is sent again.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.completes(true),
    a.completes(true),
    b.claims(completed),
  ]),

  story(
    'complete-late',
    'MUST complete after the lease, unless another token has taken over.',
    ({ a, b }) => [a.claims(claimed(1)), pass(35), a.completes(true), b.claims(completed)],
  ),

  story('complete-stranger', 'MUST NOT let another token complete.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    b.completes(false),
    c.claims(inFlight(30)),
    a.completes(true),
    b.completes(false),
  ]),

  story('complete-taken-over', 'MUST NOT let the old holder complete after a takeover.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    pass(35),
    b.claims(claimed(2)),
    a.completes(false),
    c.claims(inFlight(30)),
    b.completes(true),
  ]),

  story('complete-released', 'MUST NOT complete a record that its own token has released.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.releases(true),
    a.completes(false),
    b.claims(claimed(2)),
  ]),

  story(
    'complete-absent',
    'MUST record a completion for which there is no record, and keep it like any other.',
    ({ a, b, c }) => [
      a.completes(true),
      a.completes(true),
      b.claims(completed),
      b.completes(false),
      a.releases(false),
      pass(1005),
      c.claims(claimed(1)),
    ],
  ),

  story(
    'complete-absent-taken',
    'MUST NOT accept a completion from a token without a record while another has one.',
    ({ a, b, c }) => [
      b.claims(claimed(1)),
      a.completes(false),
      pass(35),
      a.completes(false),
      b.releases(true),
      a.completes(false),
      c.claims(claimed(2)),
    ],
  ),

  story('release-resent', 'MUST answer true when release is sent again.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.releases(true),
    a.releases(true),
    b.claims(claimed(2)),
  ]),

  story('release-late', 'MUST release after the lease, unless another token has taken over.', ({ a, b }) => [
    a.claims(claimed(1)),
    pass(35),
    a.releases(true),
    a.claims(released),
    b.claims(claimed(2)),
  ]),

  story('release-stranger', 'MUST NOT let another token release.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    b.releases(false),
    c.claims(inFlight(30)),
    a.completes(true),
  ]),

  story('release-taken-over', 'MUST NOT let the old holder release after a takeover.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    a.releases(true),
    b.claims(claimed(2)),
    a.releases(false),
    c.claims(inFlight(30)),
    pass(35),
    c.claims(claimed(3)),
    b.releases(false),
    c.completes(true),
  ]),

  story('release-completed', 'MUST NOT release a completed record.', ({ a, b }) => [
    a.claims(claimed(1)),
    a.completes(true),
    a.releases(false),
    b.claims(completed),
  ]),

  story('release-absent', 'MUST NOT create a record on a release.', ({ a }) => [
    a.releases(false),
    a.claims(claimed(1)),
  ]),
]
