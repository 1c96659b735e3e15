import { claimed } from '../store-cases/answers.js'
import { race, raceOfTwo } from '../store-cases/races.js'
import { casesIn, newSubject, stepsOf } from '../store-cases/steps.js'
import { describeState, type LedgerCase, test } from './ledger-case.js'

const KEEPS = 50

/** Two calls at once, by one client or two, whichever comes first: the calls before, and the two; what is true of the event then; calls after. */
const PAIRS = casesIn(
  `
  race-fail-resent: MUST count a failure once that is sent twice at once.
    a claim = 1 | a fail = failing | a fail = failing | failing 1
  race-fail-claim: MUST keep the failure of a late run, and grant a concurrent claim.
    a claim = 1, +35 | a fail = failing | b claim = 2 | failing 1 | b renew = yes
  race-keep-claim: MUST grant a claim that meets the failure of another delivery.
    keep = failing | keep | a claim = 1 | failing 1 or failing 2 | a renew = yes
  race-keep-complete: MUST leave nothing against an event that is handled at the same time.
    a claim = 1, +35 | keep | a complete = yes | handled
  race-fail-complete: MUST leave nothing against an event that another run completes while a late one fails.
    a claim = 1, +35, b claim = 2 | a fail | b complete = yes | handled
  race-fail-late: MUST leave nothing against an event whose run settles twice at once.
    a claim = 1 | a fail | a complete = yes | handled
  race-forget: MUST either forget a failure that is kept at the same time, or keep it as the first.
    keep = failing | keep = failing | forget = yes | absent or failing 1
  `,
  (title, [text = '']) =>
    test(title, (runner) =>
      raceOfTwo(runner, text, async (_, run, key) => {
        const [, , , then = '', after] = text.split(' | ')
        const came = describeState(await runner.call('get', ({ ledger }) => ledger.get(key)))
        if (!then.split(' or ').includes(came))
          runner.fail(`expected the event to be ${then}, but it is ${came}`)
        if (after !== undefined) await run(after)
      }),
    ),
)

/** Each method must be one atomic operation. */
export const raceCases: readonly LedgerCase[] = [
  test(`race-keep: MUST count ${KEEPS} deliveries that are kept at once, and park the event at the last of them.`, async (runner) => {
    const subject = newSubject()
    const keeps = Array.from({ length: KEEPS }, (_, index) =>
      stepsOf(`keep${index % 5 === 0 ? ' replay' : ''} park ${KEEPS * 0.8}`, [subject], index),
    )
    // The last delivery parks it, and the replays after that find it so.
    const states = await runner.runTogether(
      keeps.flat().map((step, index) => ({ ...step, isOnSecond: index % 2 === 1 })),
    )
    const parked = states.filter((state) => state === 'parked').length
    if (
      parked < 1 ||
      parked > 1 + KEEPS / 5 ||
      states.some((state) => state !== 'parked' && state !== 'failing')
    ) {
      runner.fail(`expected one delivery of ${KEEPS} to park the event, but ${parked} found it parked`)
    }
    const found = await runner.call('get', ({ ledger }) => ledger.get(subject.key))
    runner.compare(
      'get',
      { state: found?.state, ...found?.failure },
      { state: 'parked', count: KEEPS * 0.8, replays: KEEPS / 5 },
    )
  }),

  test('race-keys: MUST keep failures of different events at once.', async (runner) => {
    const names = Array.from({ length: KEEPS }, (_, index) => `${index % (KEEPS / 2)}`)
    await Promise.all(names.map((name) => runner.keep(name)))
    await runner.count({}, KEEPS / 2)
    for (const name of names.slice(0, KEEPS / 2)) {
      runner.compare('get', { ...(await runner.get(name)).failure }, { count: 2 })
    }
  }),

  test('race-replays: MUST run an event once that two have listed to replay it.', async (runner) => {
    for (let round = 0; round < 8; round++) {
      const subject = newSubject()
      await runner.runAll(stepsOf('keep park 1 = parked', [subject]))
      const claims = ['a', 'b', 'c', 'd'].flatMap((who) => stepsOf(`${who} claim seen 1`, [subject]))
      await race(runner, claims, [[claimed(1), 1]])
    }
  }),

  test('race-forgets: MUST return true to one of two that forget an event at once.', async (runner) => {
    await raceOfTwo(runner, 'keep = failing | forget | forget', async (answers, after) => {
      if (answers.filter((one) => one === true).length !== 1) {
        runner.fail(
          `two at once: expected true and false in any order, but they returned ${answers.join(' and ')}`,
        )
      }
      await after('keep = failing')
    })
  }),

  ...PAIRS,
]
