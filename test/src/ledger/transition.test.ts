import fc from 'fast-check'
import type { ClaimResult } from 'tix-webhooks'
import { test } from 'vitest'
import {
  type EventRow,
  isFinal,
  isLive,
  type LedgerAnswer,
  type LedgerCall,
  type LedgerTime,
  transition,
} from '../../../src/ledger/transition.js'
import { failedDelivery } from '../../support/failed-delivery.js'
import { runs } from '../../support/runs.js'

const LEASE = 30
const RETAIN = 1_000

const token = fc.constantFrom('t1', 't2', 't3')
const replay = fc.option(fc.record({ seen: fc.integer({ min: 0, max: 3 }) }), { nil: undefined })
const failed = fc
  .record({ isReplay: fc.boolean(), attempts: fc.constantFrom(1, 3, 9) })
  .map(({ isReplay, attempts }) =>
    failedDelivery({ isReplay, parkAfter: { attempts, ms: 500 }, retainMs: RETAIN }),
  )
const discarded = fc.option(fc.constant({ reason: 'test order' }), { nil: undefined })
const call: fc.Arbitrary<LedgerCall> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      token,
      leaseMs: fc.constant(LEASE),
      retainMs: fc.constant(RETAIN),
      replay,
    }),
  },
  fc.record({ do: fc.constant('renew' as const), token, leaseMs: fc.constant(LEASE) }),
  fc.record({ do: fc.constant('complete' as const), token, retainMs: fc.constant(RETAIN), discarded }),
  fc.record({ do: fc.constant('release' as const), token }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fail' as const), token, failed }) },
  fc.record({ do: fc.constant('keep' as const), failed }),
  fc.record({ do: fc.constant('discard' as const), reason: fc.constant('by hand') }),
  fc.record({ do: fc.constant('open' as const), token, retainMs: fc.constant(RETAIN), replay }),
)
/** Around a lease, the hours until an event is parked, and a retention. */
const step = fc.record({ call, ms: fc.constantFrom(0, 0, 0, 1, 29, 31, 500, 999, 1_001) })

interface Step {
  readonly before: EventRow | undefined
  readonly call: LedgerCall
  readonly answer: LedgerAnswer
  readonly row: EventRow | undefined
  readonly time: LedgerTime
}

const seen = (row: EventRow | undefined): number =>
  row?.failure === undefined ? 0 : row.failure.count + row.failure.replays
const isGranted = (answer: LedgerAnswer): answer is ClaimResult & { attempt: number } =>
  typeof answer === 'object' && 'attempt' in answer
const hasLease = (row: EventRow | undefined, { leaseNow }: LedgerTime): row is EventRow =>
  row?.state === 'running' && row.leaseUntil > leaseNow

const isKeeping = (call: LedgerCall): call is LedgerCall & { do: 'fail' | 'keep' } =>
  call.do === 'fail' || call.do === 'keep'
const isStarting = (call: LedgerCall): call is LedgerCall & { do: 'claim' | 'open' } =>
  call.do === 'claim' || call.do === 'open'
const isOwnClaim = (call: LedgerCall, before: EventRow | undefined): boolean =>
  call.do === 'claim' && before?.token === call.token

const wordOf = (answer: LedgerAnswer) => (typeof answer === 'object' ? answer.status : answer)

/** The answers to the calls that would change an event that is final. */
const OF_FINAL: Readonly<Partial<Record<LedgerCall['do'], string>>> = {
  claim: 'completed',
  open: 'duplicate',
  fail: 'handled',
  keep: 'handled',
  discard: 'handled',
}

/** The rules of the row, each of which must hold at every step of every history. `before` is a live row, or none. */
const RULES: Readonly<Record<string, (step: Step) => boolean>> = {
  'what is final stays as it is while it is kept': ({ before, row }) =>
    before === undefined ||
    !isFinal(before) ||
    (row?.state === before.state && row.handledAt === before.handledAt && row.reason === before.reason),
  'nothing runs, and nothing is kept, of what is final': ({ before, call, answer }) =>
    before === undefined || !isFinal(before) || (OF_FINAL[call.do] ?? wordOf(answer)) === wordOf(answer),
  'a final event has no failure, and is of a date; a discarded one has a reason': ({ row }) =>
    row === undefined ||
    (isFinal(row) === (row.handledAt !== undefined) &&
      (row.state === 'discarded') === (row.reason !== undefined) &&
      !(isFinal(row) && row.failure !== undefined)),
  'no lease is taken while another lives': ({ before, call, answer, time }) =>
    !hasLease(before, time) || isOwnClaim(call, before) || !isGranted(answer),
  'nothing but its own token and a grant ends a lease': ({ before, call, row, time }) =>
    !hasLease(before, time) ||
    ('token' in call && call.token === before.token && call.do !== 'open') ||
    (row?.state === 'running' && row.token === before.token && row.leaseUntil === before.leaseUntil),
  'renew, complete and release of another token change nothing': ({ before, call, answer, row }) =>
    !(call.do === 'renew' || call.do === 'complete' || call.do === 'release') ||
    before === undefined ||
    before.token === call.token ||
    (answer === false && row === before),
  'a token that has the record completes it, though it was released': ({ before, call, answer, row }) =>
    call.do !== 'complete' ||
    (before !== undefined && before.token !== call.token) ||
    (answer === true && row !== undefined && isFinal(row)),
  'a claim that is sent again repeats its grant, and takes nothing after its release': ({
    before,
    call,
    answer,
  }) =>
    call.do !== 'claim' ||
    before?.token !== call.token ||
    isFinal(before) ||
    (before.state === 'running'
      ? isGranted(answer) && answer.attempt === before.attempt
      : wordOf(answer) === 'in_flight'),
  'each grant of a claim is one attempt more': ({ before, call, answer, row }) =>
    call.do !== 'claim' ||
    before?.token === call.token ||
    !isGranted(answer) ||
    (answer.attempt === (before?.attempt ?? 0) + 1 && row?.attempt === answer.attempt),
  'a parked event runs for a replay alone': ({ before, call, answer, time }) =>
    before?.failure?.state !== 'parked' ||
    !isStarting(call) ||
    call.replay !== undefined ||
    isOwnClaim(call, before) ||
    hasLease(before, time) ||
    wordOf(answer) === 'parked',
  'a replay runs what was listed alone': ({ before, call, answer }) =>
    !isStarting(call) ||
    call.replay === undefined ||
    isOwnClaim(call, before) ||
    !isGranted(answer) ||
    call.replay.seen === seen(before),
  'a failure is kept once for each run, and counts one more': ({ before, call, row }) =>
    !isKeeping(call) ||
    row === before ||
    (seen(row) === seen(before) + 1 &&
      (row?.failure?.count ?? 0) - (before?.failure?.count ?? 0) === (call.failed.isReplay ? 0 : 1)),
  'a failure of a released token was sent again': ({ before, call, row, answer }) =>
    call.do !== 'fail' ||
    before?.state !== 'released' ||
    before.token !== call.token ||
    before.failure === undefined ||
    (row === before && answer === before.failure.state),
  'nothing that never ran is kept beside a lease': ({ before, call, answer, row, time }) =>
    call.do !== 'keep' || !hasLease(before, time) || (answer === 'in_flight' && row === before),
  'keeping leaves the token, and what runs': ({ before, call, row }) =>
    !isKeeping(call) ||
    before === undefined ||
    (row?.token === before.token && row.attempt === before.attempt),
  'a failed replay parks nothing, and keeps nothing for longer': ({ before, call, row }) =>
    !isKeeping(call) ||
    !call.failed.isReplay ||
    before === undefined ||
    ((row?.failure?.state !== 'parked' || before.failure?.state === 'parked') &&
      row?.expiresAt === before.expiresAt),
  'a delivery parks at its limits, and only an end changes that': ({ before, call, row, time }) =>
    row?.failure === undefined ||
    (row.failure.state === 'parked') ===
      (before?.failure?.state === 'parked' ||
        (isKeeping(call) &&
          row !== before &&
          !call.failed.isReplay &&
          (row.failure.count >= (call.failed.parkAfter?.attempts ?? 0) ||
            time.now - row.failure.firstAt >= 500))),
  'a failure goes with an end alone': ({ before, row }) =>
    before?.failure === undefined || row?.failure !== undefined || (row !== undefined && isFinal(row)),
  'the date of its receipt never changes': ({ before, row }) =>
    before === undefined || row?.receivedAt === before.receivedAt,
}

test('the rules of the row hold in every history', { tags: ['slow'] }, () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      let row: EventRow | undefined
      let now = 0
      for (const { call, ms } of steps) {
        now += ms
        const time = { now, leaseNow: now }
        const before = isLive(row, time) ? row : undefined
        const after = transition(row && Object.freeze(row), call, time)
        // What changes nothing returns the row that it was given, which may be past its retention.
        const left = after.row === row ? before : after.row
        const done = { before, call, answer: after.answer, row: left, time }
        const broken = Object.keys(RULES).filter((rule) => !RULES[rule]?.(done))
        if (broken.length > 0) throw new Error(`${JSON.stringify(done)} breaks: ${broken.join('; ')}.`)
        row = after.row
      }
    }),
    { numRuns: runs(1_000) },
  )
})
