import type { ClaimResult } from '../../src/index.js'
import { describeAnswer } from './answers.js'
import { stepsOf } from './steps.js'
import { type StoreCase, sequence, sequences, test } from './store-case.js'

/** The answers to `claim`. */
const CLAIMS = sequences(`
  claim-fresh: MUST grant an unknown key, as attempt 1.
    a claim = 1
  claim-held: MUST answer a claim with the rest of the lease while another token holds it.
    a claim = 1, b claim = left 30, +20, b claim = left 10
  claim-held-kept: MUST NOT change a live lease on a claim by another token.
    a claim = 1, +20, b claim lease 60 = left 10, c claim = left 10, a renew = yes, a complete = yes
  claim-completed: MUST answer each claim of a completed record with completed.
    a claim = 1, a complete = yes, b claim = completed, +100, c claim = completed
  claim-released: MUST grant a released record to another token at once.
    a claim = 1, a release = yes, b claim = 2
  claim-takeover: MUST grant a record to another token when its lease has run out.
    a claim = 1, +25, b claim = left 5, +10, b claim = 2, c claim = left 30
  claim-attempts: MUST count the attempts across releases and leases that run out.
    a claim = 1, a release = yes, b claim = 2, +35, c claim = 3, c release = yes, +35, d claim = 4
  claim-terms: MUST grant each claim the lease that it asks for.
    a claim lease 10 = 1, +15, b claim lease 90 = 2, +60, c claim = left 30
  claim-resent: MUST repeat the grant when a claim is sent again while it runs.
    a claim = 1, a claim = 1, a release = yes, b claim = 2, b claim = 2
  claim-resent-lease: MUST restart the lease when a claim is sent again.
    a claim = 1, +20, a claim = 1, +20, b claim = left 10, +15, b claim = 2
  claim-resent-late: MUST repeat the grant to a token whose lease has run out, unless another has taken over.
    a claim = 1, +35, a claim = 1, b claim = left 30
  claim-resent-released: MUST NOT grant a claim that arrives after the release of its own token, but answer in_flight for 1 ms.
    a claim = 1, a release = yes, a claim = released, a renew = no, b claim = 2
  claim-resent-taken-over: MUST leave the record to the new holder when the old one sends its claim again.
    a claim = 1, +35, b claim = 2, a claim = left 30, c claim = left 30, b renew = yes, b complete = yes,
      A claim = 1, A release = yes, B claim = 2, A claim = left 30, B complete = yes
  claim-resent-completed: MUST answer completed when a claim arrives after the completion of its own token.
    a claim = 1, a complete = yes, a claim = completed, b claim = completed
`)

/** `renew`, `complete` and `release`, by the holder and by other tokens. */
const HOLDING = sequences(`
  renew-holder: MUST grant the holder that renews a new lease from now.
    a claim = 1, +20, a renew = yes, +20, b claim = left 10, a renew lease 90 = yes, b claim = left 90,
      +95, b claim = 2
  renew-shorter: MUST use the lease of a renewal even if it is shorter.
    a claim = 1, a renew lease 10 = yes, b claim = left 10, +15, b claim = 2
  renew-late: MUST renew a lease that has run out, unless another token has taken over.
    a claim = 1, +35, a renew = yes, b claim = left 30
  renew-stranger: MUST NOT let another token renew a lease.
    a claim = 1, +20, b renew = no, c claim = left 10, +15, b renew = no, a complete = yes
  renew-taken-over: MUST NOT let the old holder renew after a takeover.
    a claim = 1, +35, b claim = 2, +10, a renew = no, c claim = left 20, b complete = yes
  renew-released: MUST NOT renew a released record.
    a claim = 1, a release = yes, a renew = no, b claim = 2
  renew-completed: MUST NOT renew a completed record.
    a claim = 1, a complete = yes, a renew = no, b claim = completed
  renew-absent: MUST NOT create a record on a renewal.
    a renew = no, b claim = 1
  complete-resent: MUST answer true when complete is sent again.
    a claim = 1, a complete = yes, a complete = yes, b claim = completed
  complete-late: MUST complete after the lease, unless another token has taken over.
    a claim = 1, +35, a complete = yes, b claim = completed
  complete-stranger: MUST NOT let another token complete.
    a claim = 1, b complete = no, c claim = left 30, a complete = yes, b complete = no
  complete-taken-over: MUST NOT let the old holder complete after a takeover.
    a claim = 1, +35, b claim = 2, a complete = no, c claim = left 30, b complete = yes
  complete-released: MUST complete a record that its own token has released, unless another token has taken over.
    a claim = 1, a release = yes, b complete = no, a complete = yes, b claim = completed, A claim = 1,
      A release = yes, B claim = 2, A complete = no, B complete = yes
  complete-absent: MUST record a completion for which there is no record, and keep it like any other.
    a complete = yes, a complete = yes, b claim = completed, b complete = no, a release = no, +1005,
      c claim = 1
  complete-absent-taken: MUST NOT accept a completion from a token without a record while another has one.
    b claim = 1, a complete = no, +35, a complete = no, b release = yes, a complete = no, c claim = 2
  release-resent: MUST answer true when release is sent again.
    a claim = 1, a release = yes, a release = yes, b claim = 2
  release-late: MUST release after the lease, unless another token has taken over.
    a claim = 1, +35, a release = yes, a claim = released, b claim = 2
  release-stranger: MUST NOT let another token release.
    a claim = 1, b release = no, c claim = left 30, a complete = yes
  release-taken-over: MUST NOT let the old holder release after a takeover.
    a claim = 1, a release = yes, b claim = 2, a release = no, c claim = left 30, +35, c claim = 3,
      b release = no, c complete = yes
  release-completed: MUST NOT release a completed record.
    a claim = 1, a complete = yes, a release = no, b claim = completed
  release-absent: MUST NOT create a record on a release.
    a release = no, a claim = 1
`)

const MANY_YEARS = 10 * 365 * 1440
const SIXTY_DAYS = 60 * 1440

/** How long a record is kept, and its end. */
const RETENTION = sequences(`
  retention-completion: MUST count the retention from the completion, not from the claim.
    a claim = 1, +900, a complete = yes, +900, b claim = completed
  retention-over: MUST grant a completed record that is past its retention, as attempt 1.
    a claim = 1, a release = yes, b claim = 2, b complete = yes, +1005, c claim = 1, d claim = left 30
  retention-terms: MUST keep a completed record for as long as its complete asks.
    a claim = 1, a complete kept 100 = yes, A claim kept 100 = 1, A complete = yes, +105, b claim = 1,
      B claim = completed
  retention-duplicate: MUST NOT keep a record longer for its duplicates.
    a claim = 1, a complete = yes, +600, b claim = completed, a claim = completed, +405, c claim = 1
  retention-strangers: MUST NOT keep a record longer for calls that it answers with false.
    a claim = 1, a complete = yes, +600, b renew = no, b complete = no, b release = no, a renew = no,
      a release = no, +405, c claim = 1
  retention-resent: MUST restart the retention when complete is sent again.
    a claim = 1, a complete = yes, +600, a complete = yes, +600, b claim = completed, +405, c claim = 1
  retention-takeover: MUST restart the retention at each grant.
    a claim = 1, A claim = 1, A release = yes, +900, b claim = 2, B claim = 2, +900, b renew = yes,
      b complete = yes, c claim = completed, B complete = yes
  retention-resent-claim: MUST restart the retention when a claim is sent again while it runs.
    a claim = 1, +900, a claim = 1, +900, a renew = yes, a complete = yes, b claim = completed
  retention-renewal: MUST NOT change the retention on a renewal.
    a claim = 1, A claim = 1, +600, a renew = yes, A renew = yes, +350, B claim = 2, +55, b claim = 1
  retention-held: MUST NOT keep a record longer for claims that find it held.
    a claim lease 700 = 1, +600, b claim = left 100, +405, c claim = 1
  retention-released: MUST keep a released record, and its attempts, for as long as its claim asked.
    a claim = 1, A claim = 1, +500, a release = yes, A release = yes, +450, b claim = 2, +55, B claim = 1
  retention-over-running: MUST treat an unfinished record that is past its retention as absent.
    a claim = 1, +1005, a renew = no, a release = no, b claim = 1, a complete = no, A claim = 1, +1005,
      A complete = yes, B claim = completed
  retention-over-released: MUST treat a released record that is past its retention as absent.
    a claim = 1, a release = yes, A claim = 1, A release = yes, +1005, a renew = no, a release = no,
      b complete = yes, a complete = no, c claim = completed, A claim = 1
  retention-over-completed: MUST treat a completed record that is past its retention as absent.
    a claim = 1, a complete = yes, A claim = 1, A complete = yes, +1005, a renew = no, a release = no,
      b claim = 1, a complete = no, B complete = yes, A complete = no, C claim = completed
  retention-long: MUST keep a record for ten years if it is asked to.
    a claim kept ${MANY_YEARS} = 1, a complete kept ${MANY_YEARS} = yes, A claim kept ${MANY_YEARS} = 1,
      +${SIXTY_DAYS}, b claim = completed, B claim lease ${SIXTY_DAYS} kept ${MANY_YEARS} = 2,
      +${0.9 * MANY_YEARS}, c claim = completed, B complete = yes
  terms-fraction: MUST accept leases and retentions that are not whole milliseconds.
    a claim lease ${30 + 1 / 7e4} kept ${1000 + 1 / 7e4} = 1, b claim = left ${30 + 1 / 7e4},
      a renew lease ${30 + 1 / 7e4} = yes, a complete kept ${1000 + 1 / 7e4} = yes, +900,
      b claim = completed
`)

/** Above the tolerance of answers, and below the five minutes at which a cloud refuses signed requests. */
const SKEW = 4

/** A lease and retentions, shorter than the difference of the clocks, between two processes. At the end the records are absent. */
const SKEWED = `a claim lease 3 kept 3 = 1, *b claim lease 3 kept 3 = left 3, *a renew lease 3 = yes, b claim lease 3 kept 3 = left 3,
  *a complete kept 3 = yes, b claim lease 3 kept 3 = completed, *A claim lease 3 kept 3 = 1, B claim lease 3 kept 3 = left 3,
  A complete kept 3 = yes, *purge, *B claim lease 3 kept 3 = completed, *c claim lease 3 kept 3 = completed, +3.5, b claim = 1,
  *B complete kept 3 = yes, C claim = completed`

/** Two processes with one backend, and a purge: without one, its cases test nothing. */
const CLIENTS: readonly StoreCase[] = [
  ...sequences(`
  client-records: MUST share its records with every client of its backend.
    a claim = 1, *b claim = left 30, +20, *a renew = yes, b claim = left 30, *a complete = yes,
      b claim = completed, *b claim = completed, A claim = 1, *A release = yes, A renew = no, *B claim = 2,
      A complete = no, C claim = left 30, *B release = yes, C claim = 3
  `),
  ...[SKEW, -SKEW].map((skew) => {
    const which = skew > 0 ? 'ahead' : 'behind'
    const name = `MUST NOT depend on the clock of a process that is ${SKEW} minutes ${which}.`
    return sequence(`clock-${which}: ${name}`, SKEWED, skew)
  }),
  ...sequences(`
  purge-running: MUST NOT purge a running record, whether its lease is over or not.
    a claim = 1, A claim = 1, *purge, b claim = left 30, +35, *purge, a renew = yes, *B claim = 2
  purge-released: MUST NOT purge a released record, which has the attempts, before its retention is over.
    a claim kept 100 = 1, a release = yes, A claim = 1, A release = yes, +90, b claim = 2, b release = yes,
      +800, *purge, c claim = 3, *B claim = 2
  purge-completed: MUST NOT purge a completed record before its retention is over.
    a claim kept 100 = 1, a complete = yes, A complete = yes, +600, a complete = yes, +390, *purge,
      b claim = completed, *B claim = completed, +15, *purge, *b claim = completed, C claim = 1, +605,
      *purge, c claim = 1
  `),
]

/** A sequence in which each answer occurs. */
const EVERY_ANSWER = `a claim = 1, b claim = left 30, a renew = yes, a release = yes, a claim = released, b claim = 2, a complete = no,
  b complete = yes, c claim = completed`

/** The fields of each answer. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  claimed: ['attempt', 'status'],
  completed: ['status'],
  in_flight: ['retryAfterMs', 'status'],
}

/** The arguments and the answers of a call, and keys that do not concern each other. */
const CALLS: readonly StoreCase[] = [
  ...sequences(`
  key-apart: MUST NOT let calls for one key affect another.
    a claim = 1, A renew = no, A claim = 1, A release = yes, B claim = 2, b claim = left 30,
      a complete = yes, B renew = yes, A claim = left 30, b claim = completed
  `),
  test('call-frozen: MUST NOT change its arguments.', async (runner) => {
    for (const step of stepsOf(EVERY_ANSWER)) await runner.run({ ...step, isFrozen: true })
  }),
  test('call-fields: SHOULD answer a claim with only the fields of the contract.', async (runner) => {
    for (const step of stepsOf(EVERY_ANSWER)) {
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

export const sequenceCases: readonly StoreCase[] = [...CLAIMS, ...HOLDING, ...RETENTION, ...CLIENTS, ...CALLS]
