import type { ClaimResult } from '../../src/index.js'
import type { Move, Trial } from './case-runner.js'
import {
  claimed,
  completed,
  describeAnswer,
  describeExpected,
  type Expected,
  inFlight,
  MINUTE_MS,
  meets,
} from './expected-answer.js'
import { type Holder, holder, newCast, newKey, newToken, pass } from './sequence.js'
import { defineCase, type StoreCase } from './store-case.js'

const RACERS = 24
/** A race of two can go either way, and a fault may show in one of them only. */
const ROUNDS = 16

/** A call may have begun before the one that came first, and counts what is left of that one's lease from its own begin. */
function meetsInRace(answer: unknown, expected: Expected): boolean {
  return meets(answer, expected, MINUTE_MS)
}

/** Takes steps at once. Of their answers each must be one of those that are expected, and so often. */
async function race(
  trial: Trial,
  moves: readonly Move[],
  expected: readonly [Expected, number][],
): Promise<void> {
  const answers = await trial.takeTogether(moves)
  const met = expected.map(([one]) => answers.filter((answer) => meetsInRace(answer, one)).length)
  if (expected.every(([, times], index) => met[index] === times)) return
  const wanted = expected.map(([one, times]) => `${times} × ${describeExpected(one)}`)
  trial.fail(
    `${moves.length} at once, the first of them ${moves[0]?.told}: expected ${wanted.join(' and ')}, but they returned ${tally(answers)}`,
  )
}

/** How often there was which answer. */
function tally(answers: readonly unknown[]): string {
  const counts = new Map<string, number>()
  for (const answer of answers) {
    const told = describeAnswer(answer)
    counts.set(told, (counts.get(told) ?? 0) + 1)
  }
  return [...counts].map(([told, times]) => `${times} × ${told}`).join(' and ')
}

/** Claims of a key by many tokens at once, after what an earlier holder of it did. */
async function raceForOne(
  trial: Trial,
  attempt: number,
  before: (earlier: Holder) => readonly Move[],
): Promise<void> {
  const key = newKey()
  for (const move of before(holder('an earlier token', key, newToken()))) await trial.take(move)
  const moves = Array.from({ length: RACERS }, (_, index) =>
    holder(`racer ${index + 1}`, key, newToken()).claims(claimed(attempt)),
  )
  await race(trial, moves, [
    [claimed(attempt), 1],
    [inFlight(30), RACERS - 1],
  ])
}

/** Two steps at once, each of them sent first as often as the other. Gives the answers in the order they are named. */
async function duel(trial: Trial, round: number, one: Move, other: Move): Promise<[unknown, unknown]> {
  const isTurned = round % 2 === 1
  const [first, second] = await trial.takeTogether(isTurned ? [other, one] : [one, other])
  return isTurned ? [second, first] : [first, second]
}

/** A holder whose lease has run out acts while another token claims: one of them comes first, and the other finds that. */
function lateDuel(
  id: string,
  name: string,
  act: (late: Holder) => Move,
  claimAfter: (acted: boolean) => ClaimResult,
): StoreCase {
  return defineCase(id, name, async (trial) => {
    for (let round = 0; round < ROUNDS; round++) {
      trial.turnPage()
      const { a, b, c } = newCast()
      const move = act(a)
      await trial.take(a.claims(claimed(1)))
      await trial.take(pass(35))
      const [acted, answer] = await duel(trial, round, move, b.claims(claimed(2)))
      const expected = claimAfter(acted === true)
      if (!meetsInRace(answer, expected)) {
        trial.fail(
          `${move.told} returned ${describeAnswer(acted)}, so the claim at the same time was expected to return ${describeExpected(expected)}, but it returned ${describeAnswer(answer)}`,
        )
      }
      await trial.take(c.claims(expected.status === 'completed' ? completed : inFlight(30)))
      if (expected.status === 'claimed') await trial.take(b.completes(true))
    }
  })
}

/** What each method must be: one atomic operation. */
export const raceCases: readonly StoreCase[] = [
  defineCase('race-fresh', `MUST grant one of ${RACERS} concurrent claims for a fresh key.`, (trial) =>
    raceForOne(trial, 1, () => []),
  ),

  defineCase('race-takeover', `MUST grant one of ${RACERS} concurrent claims after a lease.`, (trial) =>
    raceForOne(trial, 2, (first) => [first.claims(claimed(1)), pass(35)]),
  ),

  defineCase('race-released', `MUST grant one of ${RACERS} concurrent claims after a release.`, (trial) =>
    raceForOne(trial, 2, (first) => [first.claims(claimed(1)), first.releases(true)]),
  ),

  defineCase(
    'race-forgotten',
    `MUST grant one of ${RACERS} concurrent claims after the retention, as attempt 1.`,
    (trial) => raceForOne(trial, 1, (first) => [first.claims(claimed(1)), first.completes(true), pass(1005)]),
  ),

  defineCase(
    'race-resent',
    `MUST repeat the grant to a claim that is sent ${RACERS} times at once.`,
    async (trial) => {
      const { a, b } = newCast()
      await race(
        trial,
        Array.from({ length: RACERS }, () => a.claims(claimed(1))),
        [[claimed(1), RACERS]],
      )
      await trial.take(b.claims(inFlight(30)))
    },
  ),

  defineCase(
    'race-settle',
    'MUST let one of complete and release win if one token sends both at once.',
    async (trial) => {
      for (let round = 0; round < ROUNDS; round++) {
        trial.turnPage()
        const { a, b } = newCast()
        await trial.take(a.claims(claimed(1)))
        const [isCompleted, isReleased] = await duel(trial, round, a.completes(true), a.releases(true))
        if (isCompleted === isReleased) {
          trial.fail(
            `complete and release at once: expected true and false in any order, but both returned ${describeAnswer(isCompleted)}`,
          )
        }
        await trial.take(b.claims(isCompleted === true ? completed : claimed(2)))
      }
    },
  ),

  lateDuel(
    'race-late-renew',
    'MUST either renew a lease that has run out or grant a concurrent claim.',
    (late) => late.renews(true),
    (renewed) => (renewed ? inFlight(30) : claimed(2)),
  ),

  lateDuel(
    'race-late-complete',
    'MUST either complete after the lease or grant a concurrent claim.',
    (late) => late.completes(true),
    (isCompleted) => (isCompleted ? completed : claimed(2)),
  ),

  lateDuel(
    'race-late-release',
    'MUST NOT let a release after the lease take the record from a concurrent claim.',
    (late) => late.releases(true),
    () => claimed(2),
  ),
]
