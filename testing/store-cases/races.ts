import type { ClaimResult } from '../../src/index.js'
import type { Step, StoreCaseRunner } from './case-runner.js'
import {
  claimed,
  completed,
  describeAnswer,
  describeExpected,
  type ExpectedAnswer,
  inFlight,
  MINUTE_MS,
  meets,
} from './expected-answer.js'
import { advance, createHolders, type Holder, holder, newKey, newToken, onSecond, purge } from './sequence.js'
import { defineCase, type StoreCase } from './store-case.js'

const RACERS = 24
/** Either of two calls may come first, and a fault may show in one order only. */
const ROUNDS = 16

/** A call that lost may have begun before the one that won, and measures the rest of the lease from its own start. */
function meetsInRace(answer: unknown, expected: ExpectedAnswer): boolean {
  return meets(answer, expected, MINUTE_MS)
}

/** Every other step by the second client: two processes, with several calls each. */
function shared(steps: readonly Step[]): Step[] {
  return steps.map((step, index) => (index % 2 === 0 ? step : onSecond(step)))
}

/** Runs steps at the same time, and fails unless each expected answer came as often as expected. */
async function race(
  runner: StoreCaseRunner,
  steps: readonly Step[],
  expected: readonly [ExpectedAnswer, number][],
): Promise<void> {
  const answers = await runner.runTogether(shared(steps))
  const met = expected.map(([one]) => answers.filter((answer) => meetsInRace(answer, one)).length)
  if (expected.every(([, times], index) => met[index] === times)) return
  const wanted = expected.map(([one, times]) => `${times} × ${describeExpected(one)}`)
  runner.fail(
    `${steps.length} at once, the first of them ${steps[0]?.label}: expected ${wanted.join(' and ')}, but they returned ${tally(answers)}`,
  )
}

/** Counts the answers. */
function tally(answers: readonly unknown[]): string {
  const counts = new Map<string, number>()
  for (const answer of answers) {
    const described = describeAnswer(answer)
    counts.set(described, (counts.get(described) ?? 0) + 1)
  }
  return [...counts].map(([described, times]) => `${times} × ${described}`).join(' and ')
}

/** Claims one key with many tokens at the same time, after the steps of an earlier holder. */
async function raceForOne(
  runner: StoreCaseRunner,
  attempt: number,
  before: (earlier: Holder) => readonly Step[],
): Promise<void> {
  const key = newKey()
  for (const step of before(holder('an earlier token', key, newToken()))) await runner.run(step)
  const steps = Array.from({ length: RACERS }, (_, index) =>
    holder(`racer ${index + 1}`, key, newToken()).claims(claimed(attempt)),
  )
  await race(runner, steps, [
    [claimed(attempt), 1],
    [inFlight(30), RACERS - 1],
  ])
}

/** Runs two steps at the same time, in both orders, and by one client or by two. Returns the answers in the order of the parameters. */
async function raceOfTwo(
  runner: StoreCaseRunner,
  round: number,
  one: Step,
  other: Step,
): Promise<[unknown, unknown]> {
  const isTurned = round % 2 === 1
  const pair = isTurned ? [other, one] : [one, other]
  const [first, second] = await runner.runTogether(round % 4 < 2 ? shared(pair) : pair)
  return isTurned ? [second, first] : [first, second]
}

/** After its lease or its retention, a holder acts while another token claims: the second of the two must find what the first has done. */
function raceWithClaim(
  id: string,
  name: string,
  act: (late: Holder) => Step,
  claimAfter: (acted: boolean) => ClaimResult,
  minutes = 35,
): StoreCase {
  return defineCase(id, name, async (runner) => {
    for (let round = 0; round < ROUNDS; round++) {
      runner.clearSteps()
      const { a, b, c } = createHolders()
      const step = act(a)
      await runner.run(a.claims(claimed(1)))
      await runner.run(advance(minutes))
      const [acted, answer] = await raceOfTwo(runner, round, step, b.claims(claimed(2)))
      const expected = claimAfter(acted === true)
      if (!meetsInRace(answer, expected)) {
        runner.fail(
          `${step.label} returned ${describeAnswer(acted)}, so the claim at the same time was expected to return ${describeExpected(expected)}, but it returned ${describeAnswer(answer)}`,
        )
      }
      await runner.run(c.claims(expected.status === 'completed' ? completed : inFlight(30)))
      if (expected.status === 'claimed') await runner.run(b.completes(true))
    }
  })
}

/** Each method must be one atomic operation. */
export const raceCases: readonly StoreCase[] = [
  defineCase('race-fresh', `MUST grant one of ${RACERS} concurrent claims for a fresh key.`, (runner) =>
    raceForOne(runner, 1, () => []),
  ),

  defineCase('race-takeover', `MUST grant one of ${RACERS} concurrent claims after a lease.`, (runner) =>
    raceForOne(runner, 2, (first) => [first.claims(claimed(1)), advance(35)]),
  ),

  defineCase('race-released', `MUST grant one of ${RACERS} concurrent claims after a release.`, (runner) =>
    raceForOne(runner, 2, (first) => [first.claims(claimed(1)), first.releases(true)]),
  ),

  defineCase(
    'race-forgotten',
    `MUST grant one of ${RACERS} concurrent claims after the retention, as attempt 1.`,
    (runner) =>
      raceForOne(runner, 1, (first) => [first.claims(claimed(1)), first.completes(true), advance(1005)]),
  ),

  defineCase(
    'race-resent',
    `MUST repeat the grant to a claim that is sent ${RACERS} times at once.`,
    async (runner) => {
      const { a, b } = createHolders()
      await race(
        runner,
        Array.from({ length: RACERS }, () => a.claims(claimed(1))),
        [[claimed(1), RACERS]],
      )
      await runner.run(b.claims(inFlight(30)))
    },
  ),

  defineCase(
    'race-settle',
    'MUST let one of complete and release win if one token sends both at once.',
    async (runner) => {
      for (let round = 0; round < ROUNDS; round++) {
        runner.clearSteps()
        const { a, b } = createHolders()
        await runner.run(a.claims(claimed(1)))
        const [isCompleted, isReleased] = await raceOfTwo(runner, round, a.completes(true), a.releases(true))
        if (isCompleted === isReleased) {
          runner.fail(
            `complete and release at once: expected true and false in any order, but both returned ${describeAnswer(isCompleted)}`,
          )
        }
        await runner.run(b.claims(isCompleted === true ? completed : claimed(2)))
      }
    },
  ),

  raceWithClaim(
    'race-late-renew',
    'MUST either renew a lease that has run out or grant a concurrent claim.',
    (late) => late.renews(true),
    (renewed) => (renewed ? inFlight(30) : claimed(2)),
  ),

  raceWithClaim(
    'race-late-complete',
    'MUST either complete after the lease or grant a concurrent claim.',
    (late) => late.completes(true),
    (isCompleted) => (isCompleted ? completed : claimed(2)),
  ),

  raceWithClaim(
    'race-late-release',
    'MUST NOT let a release after the lease take the record from a concurrent claim.',
    (late) => late.releases(true),
    () => claimed(2),
  ),

  raceWithClaim(
    'race-absent-complete',
    'MUST either record a completion without a record or grant a concurrent claim.',
    (late) => late.completes(undefined),
    (isCompleted) => (isCompleted ? completed : claimed(1)),
    1005,
  ),

  defineCase('race-purge', 'MUST NOT lose a record to a purge at the same time.', async (runner) => {
    const keys = Array.from({ length: RACERS }, () => createHolders())
    for (const { a } of keys) await runner.run(a.claims(claimed(1)))
    await runner.run(advance(1005))
    const claims = shared(keys.map(({ b }) => b.claims(claimed(1))))
    const middle = RACERS / 2
    await runner.runTogether([...claims.slice(0, middle), purge, ...claims.slice(middle)])
    for (const { b } of keys) await runner.run(b.renews(true))
  }),
]
