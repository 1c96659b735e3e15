import { Discard } from '../../src/index.js'
import { deferred } from '../../src/internal.js'
import type { InboxCaseRunner, Receiving, Work } from './case-runner.js'
import { failing, writing } from './ends.js'
import { type InboxCase, test } from './inbox-case.js'

/** Either of two deliveries may come first, and a fault may show in one order only. */
const ROUNDS = 8

/** Work that stays in its transaction until it may continue. */
export function held(
  runner: InboxCaseRunner,
  effect: string,
): { readonly work: Work; readonly entered: Promise<void>; release(): void } {
  const entered = deferred()
  const released = deferred()
  const work: Work = async ({ write }) => {
    await write(effect)
    entered.resolve()
    await runner.until(released.promise)
  }
  return { work, entered: entered.promise, release: released.resolve }
}

async function overlap(runner: InboxCaseRunner, first: Receiving, second: Receiving): Promise<void> {
  const { work, entered, release } = held(runner, 'first')
  const delivered = first.deliver('1', work, ['handled', 'duplicate'])
  await Promise.race([entered, delivered])
  // A database without locks runs both, and commits one.
  const { end } = await second.deliver('1', writing('second'), ['in_flight', 'handled'])
  release()
  if (((await delivered).end === 'handled') === (end === 'handled')) {
    runner.fail('of two deliveries at once, expected one to be handled')
  }
  await runner.expectEffects(end === 'handled' ? 'second' : 'first')
  await second.deliver('1', runner.mustNotRun, 'duplicate')
}

/** Deliveries at the same time, and the connections that they take. */
export const overlapCases: readonly InboxCase[] = [
  test('in-flight: MUST NOT make a delivery wait for another of the same event, or keep the writes of both.', (runner) =>
    overlap(runner, runner, runner)),

  test('in-flight-other: MUST NOT do so if the other is in another inbox on the same database.', async (runner) =>
    overlap(runner, await runner.open(1), await runner.open(1))),

  test('race: MUST handle one of several deliveries of one event that arrive at once.', async (runner) => {
    const inboxes = [await runner.open(2), await runner.open(2)]
    const rounds = Array.from({ length: ROUNDS }, (_, round) => `${round}`)
    for (const round of rounds) {
      const ends = await Promise.all(
        [...inboxes, ...inboxes, ...inboxes].map((inbox) =>
          inbox.deliver(round, writing(round), ['handled', 'duplicate', 'in_flight']),
        ),
      )
      const handled = ends.filter(({ end }) => end === 'handled').length
      if (handled !== 1)
        runner.fail(`of ${ends.length} deliveries at once, expected one to be handled, but ${handled} were`)
    }
    await runner.expectEffects(...rounds)
  }),

  test('pool-of-two: MUST run two events at the same time over two connections, and then a third.', async (runner) => {
    const [one, other] = [held(runner, 'one'), held(runner, 'other')]
    const delivered = [one, other].map(({ work }, index) => runner.deliver(`${index}`, work, 'handled'))
    await Promise.race([Promise.all([one.entered, other.entered]), Promise.all(delivered)])
    one.release()
    other.release()
    await Promise.all(delivered)
    await runner.deliver('third', writing('third'), 'handled')
    await runner.expectEffects('one', 'other', 'third')
  }),

  test('connection-back: MUST give its connection back, however a delivery ends.', async (runner) => {
    const [inbox, other] = [await runner.open(1), await runner.open(1)]
    const { work, entered, release } = held(runner, 'held')
    const delivered = other.deliver('1', work, ['handled', 'duplicate'])
    await Promise.race([entered, delivered])
    await inbox.deliver('1', writing('held'), ['in_flight', 'handled'])
    release()
    await delivered
    await inbox.deliver('1', runner.mustNotRun, 'duplicate')
    await inbox.deliver('2', failing(new Error('mine'), 'failed'), 'rejected')
    await inbox.deliver('3', failing(new Discard('unwanted'), 'discarded'), 'discarded')
    await inbox.deliver(null, writing('null'), 'handled')
    await inbox.deliver('4', writing('last'), 'handled')
    await runner.expectEffects('held', 'last', 'null')
  }),
]
