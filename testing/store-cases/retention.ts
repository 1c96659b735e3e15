import { claimed, completed, inFlight } from './expected-answer.js'
import { advance, sequence } from './sequence.js'
import type { StoreCase } from './store-case.js'

const DAY = 24 * 60
const YEAR = 365 * DAY

/** How long a record is kept, and its end. */
export const retentionCases: readonly StoreCase[] = [
  sequence(
    'retention-completion',
    'MUST count the retention from the completion, not from the claim.',
    (holders) => [
      holders.a.claims(claimed(1)),
      advance(900),
      holders.a.completes(true),
      advance(900),
      holders.b.claims(completed),
    ],
  ),

  sequence(
    'retention-over',
    'MUST grant a completed record that is past its retention, as attempt 1.',
    (holders) => [
      holders.a.claims(claimed(1)),
      holders.a.releases(true),
      holders.b.claims(claimed(2)),
      holders.b.completes(true),
      advance(1005),
      holders.c.claims(claimed(1)),
      holders.d.claims(inFlight(30)),
    ],
  ),

  sequence(
    'retention-terms',
    'MUST keep a completed record for as long as its complete asks.',
    (holders, other) => [
      holders.a.claims(claimed(1)),
      holders.a.completes(true, 100),
      other.a.claims(claimed(1), { kept: 100 }),
      other.a.completes(true),
      advance(105),
      holders.b.claims(claimed(1)),
      other.b.claims(completed),
    ],
  ),

  sequence('retention-duplicate', 'MUST NOT keep a record longer for its duplicates.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    a.completes(true),
    advance(600),
    b.claims(completed),
    a.claims(completed),
    advance(405),
    c.claims(claimed(1)),
  ]),

  sequence(
    'retention-strangers',
    'MUST NOT keep a record longer for calls that it answers with false.',
    ({ a, b, c }) => [
      a.claims(claimed(1)),
      a.completes(true),
      advance(600),
      b.renews(false),
      b.completes(false),
      b.releases(false),
      a.renews(false),
      a.releases(false),
      advance(405),
      c.claims(claimed(1)),
    ],
  ),

  sequence('retention-resent', 'MUST restart the retention when complete is sent again.', ({ a, b, c }) => [
    a.claims(claimed(1)),
    a.completes(true),
    advance(600),
    a.completes(true),
    advance(600),
    b.claims(completed),
    advance(405),
    c.claims(claimed(1)),
  ]),

  sequence('retention-takeover', 'MUST restart the retention at each grant.', ({ a, b, c }, other) => [
    a.claims(claimed(1)),
    other.a.claims(claimed(1)),
    other.a.releases(true),
    advance(900),
    b.claims(claimed(2)),
    other.b.claims(claimed(2)),
    advance(900),
    b.renews(true),
    b.completes(true),
    c.claims(completed),
    other.b.completes(true),
  ]),

  sequence(
    'retention-resent-claim',
    'MUST restart the retention when a claim is sent again while it runs.',
    ({ a, b }) => [
      a.claims(claimed(1)),
      advance(900),
      a.claims(claimed(1)),
      advance(900),
      a.renews(true),
      a.completes(true),
      b.claims(completed),
    ],
  ),

  sequence('retention-renewal', 'MUST NOT change the retention on a renewal.', ({ a, b }, other) => [
    a.claims(claimed(1)),
    other.a.claims(claimed(1)),
    advance(600),
    a.renews(true),
    other.a.renews(true),
    advance(350),
    other.b.claims(claimed(2)),
    advance(55),
    b.claims(claimed(1)),
  ]),

  sequence('retention-held', 'MUST NOT keep a record longer for claims that find it held.', ({ a, b, c }) => [
    a.claims(claimed(1), { lease: 700 }),
    advance(600),
    b.claims(inFlight(100)),
    advance(405),
    c.claims(claimed(1)),
  ]),

  sequence(
    'retention-released',
    'MUST keep a released record, and its attempts, for as long as its claim asked.',
    ({ a, b }, other) => [
      a.claims(claimed(1)),
      other.a.claims(claimed(1)),
      advance(500),
      a.releases(true),
      other.a.releases(true),
      advance(450),
      b.claims(claimed(2)),
      advance(55),
      other.b.claims(claimed(1)),
    ],
  ),

  sequence(
    'retention-over-running',
    'MUST treat an unfinished record that is past its retention as absent.',
    ({ a, b }, other) => [
      a.claims(claimed(1)),
      advance(1005),
      a.renews(false),
      a.releases(false),
      b.claims(claimed(1)),
      a.completes(false),
      other.a.claims(claimed(1)),
      advance(1005),
      other.a.completes(true),
      other.b.claims(completed),
    ],
  ),

  sequence(
    'retention-over-released',
    'MUST treat a released record that is past its retention as absent.',
    ({ a, b }, other) => [
      a.claims(claimed(1)),
      a.releases(true),
      other.a.claims(claimed(1)),
      other.a.releases(true),
      advance(1005),
      a.renews(false),
      a.releases(false),
      a.completes(true),
      b.claims(completed),
      other.a.claims(claimed(1)),
    ],
  ),

  sequence(
    'retention-over-completed',
    'MUST treat a completed record that is past its retention as absent.',
    ({ a, b }, other) => [
      a.claims(claimed(1)),
      a.completes(true),
      other.a.claims(claimed(1)),
      other.a.completes(true),
      advance(1005),
      a.renews(false),
      a.releases(false),
      b.claims(claimed(1)),
      a.completes(false),
      other.b.completes(true),
      other.a.completes(false),
      other.c.claims(completed),
    ],
  ),

  sequence('retention-long', 'MUST keep a record for ten years if it is asked to.', ({ a, b, c }, other) => [
    a.claims(claimed(1), { kept: 10 * YEAR }),
    a.completes(true, 10 * YEAR),
    other.a.claims(claimed(1), { kept: 10 * YEAR }),
    advance(60 * DAY),
    b.claims(completed),
    other.b.claims(claimed(2), { lease: 60 * DAY, kept: 10 * YEAR }),
    advance(9 * YEAR),
    c.claims(completed),
    other.b.completes(true),
  ]),

  sequence(
    'terms-fraction',
    'MUST accept leases and retentions that are not whole milliseconds.',
    ({ a, b }) => {
      const lease = 30 + 1 / 7e4
      const kept = 1000 + 1 / 7e4
      return [
        a.claims(claimed(1), { lease, kept }),
        b.claims(inFlight(lease)),
        a.renews(true, lease),
        a.completes(true, kept),
        advance(900),
        b.claims(completed),
      ]
    },
  ),
]
