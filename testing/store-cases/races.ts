import type { ClaimResult, IdempotencyStore } from '../../src/index.js'
import {
  claimed,
  describeAnswer,
  describeExpected,
  type ExpectedAnswer,
  inFlight,
  MINUTE_MS,
  meets,
} from './answers.js'
import type { Step, StoreCaseRunner } from './case-runner.js'
import { answerOf, casesIn, newSubject, newToken, stepsOf } from './steps.js'
import { type StoreCase, test } from './store-case.js'

const RACERS = 24
/** Either of two calls may come first, and a fault may show in one order only. */
const ROUNDS = 16

/** Every other step by the second client: two processes, with several calls each. */
function shared(steps: readonly Step[]): Step[] {
  return steps.map((step, index) => (index % 2 === 0 ? step : { ...step, isOnSecond: true }))
}

/** A call that lost may have begun before the one that won, and measures the rest of the lease from its own start. */
function meetsInRace(answer: unknown, expected: ExpectedAnswer): boolean {
  return meets(answer, expected, MINUTE_MS)
}

/** Runs steps at the same time, and fails unless each expected answer came as often as expected. */
export async function race<Store extends IdempotencyStore>(
  runner: StoreCaseRunner<Store>,
  steps: readonly Step[],
  expected: readonly (readonly [ExpectedAnswer, number])[],
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

/**
 * Rounds of two calls at the same time, in both orders, by one client and by two.
 *
 * @param text the calls before them, and the two, as in `a claim = 1 | a complete | b claim`
 */
export async function raceOfTwo<Store extends IdempotencyStore>(
  runner: StoreCaseRunner<Store>,
  text: string,
  judge: (
    answers: readonly [unknown, unknown],
    after: (text: string) => Promise<void>,
    key: string,
  ) => Promise<void>,
): Promise<void> {
  const [before = '', one, other] = text.split(' | ')
  for (let round = 0; round < ROUNDS; round++) {
    runner.clearSteps()
    const subject = newSubject()
    const after = (text: string): Promise<void> => runner.runAll(stepsOf(text, [subject], 20))
    await after(before)
    const pair = stepsOf(`${one}, ${other}`, [subject], 10)
    const isTurned = round % 2 === 1
    if (isTurned) pair.reverse()
    const [first, second] = await runner.runTogether(round % 4 < 2 ? shared(pair) : pair)
    await judge(isTurned ? [second, first] : [first, second], after, subject.key)
  }
}

/** Many tokens claim one key at the same time, after the steps of an earlier one: the attempt that one of them is granted. */
const FOR_ONE = casesIn(
  `
  race-fresh: MUST grant one of ${RACERS} concurrent claims for a fresh key.
    +0 | 1
  race-takeover: MUST grant one of ${RACERS} concurrent claims after a lease.
    a claim = 1, +35 | 2
  race-released: MUST grant one of ${RACERS} concurrent claims after a release.
    a claim = 1, a release = yes | 2
  race-forgotten: MUST grant one of ${RACERS} concurrent claims after the retention, as attempt 1.
    a claim = 1, a complete = yes, +1005 | 1
  `,
  (title, [text = '']) =>
    test(title, async (runner) => {
      const [before = '', attempt] = text.split(' | ')
      const { key, tokens } = newSubject()
      await runner.runAll(stepsOf(before, [{ key, tokens }]))
      const claims = Array.from({ length: RACERS }, () =>
        stepsOf('a claim', [{ key, tokens: { a: newToken() } }]),
      )
      await race(runner, claims.flat(), [
        [claimed(Number(attempt)), 1],
        [inFlight(30), RACERS - 1],
      ])
    }),
)

/**
 * After its lease or its retention, a holder acts while another token claims: the second of the two must find what the first has done. The answer to the
 * claim if the act was answered with true, or if it was not.
 */
const WITH_CLAIM = casesIn(
  `
  race-late-renew: MUST either renew a lease that has run out or grant a concurrent claim.
    a claim = 1, +35 | a renew | b claim | left 30 or 2
  race-late-complete: MUST either complete after the lease or grant a concurrent claim.
    a claim = 1, +35 | a complete | b claim | completed or 2
  race-late-release: MUST NOT let a release after the lease take the record from a concurrent claim.
    a claim = 1, +35 | a release | b claim | 2 or 2
  race-absent-complete: MUST either record a completion without a record or grant a concurrent claim.
    a claim = 1, +1005 | a complete | b claim | completed or 1
  `,
  (title, [text = '']) =>
    test(title, (runner) =>
      raceOfTwo(runner, text, async ([acted, answer], after) => {
        const answers = text.split(' | ')[3]?.split(' or ') ?? []
        const expected = answerOf(answers[acted === true ? 0 : 1] ?? '') as ClaimResult
        if (!meetsInRace(answer, expected)) {
          runner.fail(
            `the first returned ${describeAnswer(acted)}, so the claim at the same time was expected to return ${describeExpected(expected)}, but it returned ${describeAnswer(answer)}`,
          )
        }
        await after(expected.status === 'completed' ? 'c claim = completed' : 'c claim = left 30')
        if (expected.status === 'claimed') await after('b complete = yes')
      }),
    ),
)

/** Each method must be one atomic operation. */
export const raceCases: readonly StoreCase[] = [
  ...FOR_ONE,
  test(`race-resent: MUST repeat the grant to a claim that is sent ${RACERS} times at once.`, async (runner) => {
    const subject = newSubject()
    const claims = Array.from({ length: RACERS }, () => stepsOf('a claim', [subject]))
    await race(runner, claims.flat(), [[claimed(1), RACERS]])
    await runner.runAll(stepsOf('b claim = left 30', [subject]))
  }),

  test('race-settle: MUST complete a record whose token sends complete and release at once, whichever comes first.', (runner) =>
    raceOfTwo(runner, 'a claim = 1 | a complete = yes | a release', async ([isCompleted], after) => {
      if (isCompleted !== true) {
        runner.fail(
          `complete and release at once: expected true from complete, but it returned ${describeAnswer(isCompleted)}`,
        )
      }
      await after('b claim = completed')
    })),

  ...WITH_CLAIM,

  test('race-purge: MUST NOT lose a record to a purge at the same time.', async (runner) => {
    const subjects = Array.from({ length: RACERS }, () => newSubject())
    const all = (text: string): Step[] => subjects.flatMap((subject) => stepsOf(text, [subject]))
    await runner.runAll(all('a claim = 1'))
    await runner.runAll(stepsOf('+1005'))
    const claims = shared(all('b claim = 1'))
    const middle = RACERS / 2
    await runner.runTogether([...claims.slice(0, middle), ...stepsOf('*purge'), ...claims.slice(middle)])
    await runner.runAll(all('b renew = yes'))
  }),
]
