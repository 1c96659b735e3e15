import { playHistories } from '../store-cases/histories.js'
import { checkRecord, type LedgerCase, sequence, sequences, test } from './ledger-case.js'

/** What a ledger says of an event that nothing failed for. */
const STATES = sequences(`
  states: MUST say of an event whether it is running, pending, or handled, and forget it after its retention.
    is absent, a claim = 1, is running, +35, is pending, b claim = 2, is running, b release = yes,
      is pending, c claim = 3, +20, c renew = yes, is running, c complete = yes, is handled, +900,
      is handled, +105, is absent
  state-discarded: MUST record the reason of a discarded event, and nothing else of a later completion.
    a claim = 1, a complete discarded = yes, is discarded, b claim = completed, +5, a complete = yes,
      is discarded
    a claim = 1, a complete = yes, +5, a complete discarded = yes, is handled
    a complete discarded = yes, is discarded
  state-unclaimed: MUST record a completion of an event that it does not know.
    a complete = yes, is handled, b complete = no
`)

/** `fail`: the end of a run that failed. */
const FAILS = sequences(`
  fail: MUST keep the failure of a run, and release its event, in one write.
    a claim = 1, +5, a fail = failing, is failing 1, b claim = 2, is failing 1, c claim = left 30, +5,
      b fail = failing, is failing 2, +5, c claim = 3, c fail = failing, is failing 3
  fail-resent: MUST NOT count a failure again that is sent again.
    a claim = 1, a fail = failing, +5, a fail park 1 = failing, a fail replay = failing, is failing 1,
      b claim = 2
    a claim = 1, a fail park 1 = parked, +5, a fail = parked, is parked 1
  fail-unclaimed: MUST keep the failure of a run whose event it does not know, or has released.
    a fail = failing, is failing 1, a fail = failing, is failing 1, b claim = 2
    a claim = 1, a release = yes, a fail = failing, is failing 1, b claim = 2
  fail-late: MUST keep the failure of a run whose lease is over, and release its event.
    a claim = 1, +35, a fail = failing, is failing 1, a renew = no, a claim = released, b claim = 2
  fail-lost: MUST keep the failure of a run that lost its lease, and leave the event to the other.
    a claim = 1, +35, b claim = 2, +5, a fail = failing, is failing 1, c claim = left 25, b renew = yes,
      b complete = yes
    a claim = 1, a release = yes, b claim = 2, b release = yes, +5, a fail = failing, b claim = released,
      c claim = 3
    a claim = 1, +35, b claim = 2, a fail = failing, b fail = failing, is failing 2, c claim = 3
    a claim = 1, +35, b claim = 2, a fail park 1 = parked, b claim = 2, b release = yes, c claim = waits
  fail-handled: MUST keep nothing against an event that is handled or discarded.
    a claim = 1, +35, b claim = 2, b complete = yes, +5, a fail = handled, a fail replay = handled,
      keep = handled, is handled
    a claim = 1, a complete discarded = yes, a fail = handled, keep park 1 = handled, is discarded, +990,
      keep = handled, +15, is absent
  fail-token: MUST NOT change the token of a run that failed.
    a claim = 1, a fail = failing, keep = failing, a claim = released, b complete = no, a complete = yes,
      is handled
    a claim = 1, a fail park 1 = parked, b claim = waits, +5, a complete = yes, is handled,
      c claim = completed
  complete-clears: MUST remove the failure when the event is handled or discarded.
    a claim = 1, a fail = failing, b claim = 2, +5, b complete = yes, is handled, c claim = completed
    keep = failing, a claim = 1, a complete discarded = yes, is discarded
    keep park 1 = parked, a claim seen 1 = 1, a complete = yes, is handled, keep = handled
`)

/** `keep`: the failure of a delivery without a claim. */
const KEEPS = sequences(`
  keep: MUST keep a failed delivery with all its fields, count the next ones, and take the rest from the latest.
    keep = failing, is failing 1, +5, keep = failing, is failing 2, +5, keep = failing, keep = failing,
      is failing 4, +5, keep replay = failing, is failing 4+1, +5, keep = failing, is failing 5+1,
      a claim = 1, is failing 5+1
  keep-replay: MUST count a replay of an event that is not known.
    keep replay park 1 = failing, is failing 0+1, +5, keep replay = failing, is failing 0+2, +5,
      keep = failing, is failing 1+2
  keep-held: MUST NOT change an event that another delivery has a lease on.
    a claim = 1, +5, keep = in_flight, keep replay = in_flight, is running, b claim = left 25,
      a renew = yes, a complete = yes
    keep = failing, a claim = 1, keep park 1 = in_flight, is failing 1, +35, keep = failing, is failing 2,
      b claim = 2
    a claim = 1, +35, keep = failing, is failing 1, a renew = yes, a complete = yes, is handled
`)

/** When an event is parked, and what runs it then. */
const PARKS: readonly LedgerCase[] = [
  ...sequences(`
  park-attempts: MUST park an event at its last delivery, and not at a replay.
    keep park 3 = failing, keep replay park 3 = failing, keep replay park 3 = failing,
      keep park 3 = failing, is failing 2+2, keep park 3 = parked, is parked 3+2
    keep park 1 = parked, is parked 1
    a claim = 1, a fail park 2 = failing, b claim = 2, b fail park 2 = parked, is parked 2
  park-time: MUST park an event that fails so long after its first failure.
    keep after 60 = failing, +58, keep after 60 = failing, +3, keep replay after 60 = failing,
      keep after 60 = parked
    a claim = 1, +120, a fail after 60 = failing, +61, b claim = 2, b fail after 60 = parked
  park-either: MUST park by deliveries or by time, whichever is first.
    keep park 3 after 60 = failing, +61, keep park 3 after 60 = parked
    keep park 3 after 60 = failing, keep park 3 after 60 = failing, keep park 3 after 60 = parked
  park-never: MUST NOT park an event without a limit.
    keep = failing, +600, keep = failing, +600, keep = failing, is failing 3
  `),
  // A deploy changes `parkAfter` while events fail.
  ...sequences(`
  park-limits: MUST park by the limits that come with each delivery, whether lower or higher than before.
    keep = failing, keep = failing, keep = failing, keep = failing, keep park 3 = parked
    keep park 2 = failing, keep park 4 = failing, keep = failing, keep park 5 = failing,
      keep park 5 = parked
  park-stays: MUST leave what is parked so, whatever fails later.
    keep park 1 = parked, keep = parked, keep park 9 = parked, keep replay = parked, is parked 3+1,
      forget = yes, keep = failing
  park-claim: MUST answer parked to a delivery of a parked event, and run it for a replay.
    a claim = 1, a fail park 1 = parked, b claim = waits, *b claim = waits, is parked 1,
      b claim seen 1 = 2, is parked 1, c claim = left 30, b renew = yes, +35, c claim = waits,
      b complete = yes, is handled, c claim = completed
  `),
]

/** Replays of what is failing or parked. */
const REPLAYS = sequences(`
  replay-fails: MUST count a replay that failed, and leave the state as it was.
    a claim = 1, a fail park 1 = parked, +5, b claim seen 1 = 2, b fail replay = parked, is parked 1+1, +5,
      c claim seen 2 = 3, c fail replay = parked, is parked 1+2, a claim = waits
    keep = failing, a claim seen 1 = 1, a fail replay park 1 = failing, is failing 1+1, b claim = 2
  replay-seen: MUST run a replay only if the event has failed as often as when it was listed.
    keep = failing, keep = failing, a claim seen 1 = released, a claim seen 2 = 1, a claim seen 2 = 1,
      b claim seen 2 = left 30, a fail replay = failing, b claim seen 2 = released, b claim seen 3 = 2
    a claim seen 1 = released, is absent, a claim seen 0 = 1
    a claim = 1, a fail = failing, +1005, b claim seen 1 = released, b claim seen 0 = 1
    keep = failing, a claim = 1, a complete = yes, b claim seen 1 = completed, is handled
`)

/** How long an event is kept. */
const RETENTION = sequences(`
  retention: MUST count the retention from the last failed delivery, and not from replays.
    a claim = 1, +600, a fail = failing, +900, is failing 1, +105, is absent
    keep = failing, +600, keep = failing, +900, is failing 2, keep replay = failing, is failing 2+1, +105,
      is absent
    keep = failing, +600, keep kept 100 = failing, +105, is absent
    a claim = 1, +35, b claim = 2, +600, a fail = failing, is failing 1, +405, is absent
  retention-replay: MUST NOT keep an event longer for the run of a replay, but longer than its lease.
    keep = failing, +600, a claim seen 1 = 1, +35, a fail replay = failing, +300, is failing 1+1, +105,
      is absent
    keep kept 40 = failing, a claim lease 100 seen 1 = 1, +60, a renew = yes, is failing 1, +45, is absent
  retention-over: MUST reset all that it knows of an event past its retention.
    a claim = 1, a fail park 1 = parked, +1005, is absent, b claim = 1, is running, b release = yes,
      is pending
    a claim = 1, a fail park 1 = parked, +1005, a fail = failing, is failing 1, b claim = 2
    keep park 1 = parked, keep replay = parked, +1005, keep = failing, is failing 1, a claim = 1
    keep park 1 = parked, +1005, keep replay = failing, is failing 0+1
    a claim = 1, a fail = failing, +1005, b complete = yes, is handled
    a claim = 1, a complete discarded = yes, +1005, keep = failing, is failing 1, +5, a claim = 1
    a claim = 1, +1005, keep = failing, is failing 1
    keep = failing, +1005, discard = unknown, is absent
  purge: MUST NOT purge what is within its retention.
    keep = failing, Keep park 1 = parked, +900, *purge, is failing 1, Is parked 1, keep = failing, +105,
      *purge, is failing 2, Is absent, +900, *purge, is absent
`)

/** What is done by hand. */
const BY_HAND = sequences(`
  discard: MUST discard an event that is not running, so that later deliveries are duplicates.
    discard = unknown, is absent, keep = failing, +5, discard = discarded, is discarded, keep = handled,
      a claim = completed
    keep park 1 = parked, *discard = discarded, discard = handled, is discarded, +900, a claim = completed,
      +105, is absent
    a claim = 1, +5, discard = in_flight, is running, +35, discard = discarded, is discarded, a renew = no
    a claim = 1, a release = yes, discard = discarded, a complete = yes, is discarded
    a claim = 1, a complete = yes, discard = handled, is handled
  forget: MUST remove all that it knows of an event.
    forget = no, keep = failing, *forget = yes, is absent, forget = no, keep = failing, is failing 1
    a claim = 1, a complete = yes, forget = yes, is absent, b claim = 1, Keep = failing, forget = yes,
      Is failing 1
`)

/** Between processes whose clocks differ. */
const SKEWED = `*a claim = 1, +5, a fail = failing, *keep = failing, +5, *keep replay = failing, is failing 2+1, *b claim = 2, +5,
  *keep = in_flight, *b fail = failing, +5, *C claim = 1, *C complete = yes, Is handled, *discard = discarded, is discarded`

const CLIENTS: readonly LedgerCase[] = [
  sequence('clock-ahead: MUST take no date from a process whose clock is 4 minutes ahead.', [SKEWED], 4),
  sequence('clock-behind: MUST take no date from a process whose clock is 4 minutes behind.', [SKEWED], -4),
  test('histories: MUST answer every history, and record it, as the model of the contract does.', (runner) =>
    playHistories(
      runner,
      [
        ...[
          'fail kept',
          'fail kept park 3',
          'fail replay kept',
          'keep kept',
          'keep kept park 2',
          'keep replay kept',
        ],
        ...['claim lease kept seen 1', 'claim lease kept seen 2', 'claim lease kept', 'discard'],
      ],
      async (key, model) => void (await checkRecord(runner, key, model)),
    )),
]

/** The rules of the record of an event. */
export const ruleCases: readonly LedgerCase[] = [
  ...STATES,
  ...FAILS,
  ...KEEPS,
  ...PARKS,
  ...REPLAYS,
  ...RETENTION,
  ...BY_HAND,
  ...CLIENTS,
]
