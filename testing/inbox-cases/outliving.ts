import { Discard } from '../../src/index.js'
import { deferred } from '../../src/internal.js'
import { type End, type InboxCaseRunner, type Run, turn, type Work } from './case-runner.js'
import { writing } from './ends.js'
import { type InboxCase, test } from './inbox-case.js'

/** Writes through a transaction that is over, or will be: it may throw, reject or never settle. */
function attempt(run: Run | undefined, effect: string): void {
  run?.write(effect).catch(() => {})
}

/** A handler that continues after its run has ended, over the only connection. */
async function goOn(runner: InboxCaseRunner, end: (run: Run) => unknown, expected: End): Promise<void> {
  const inbox = await runner.open(1)
  let over: Run | undefined
  const first: Work = async (run) => {
    over = run
    await run.write('first')
    await end(run)
  }
  await inbox.deliver('1', first, expected)
  attempt(over, 'late')
  const next: Work = async ({ write }) => {
    attempt(over, 'later')
    await write('next')
  }
  await inbox.deliver('2', next, 'handled')
  await inbox.deliver('3', writing('last'), 'handled')
  await runner.expectEffects(...(expected === 'handled' ? ['first'] : []), 'last', 'next')
}

/** A handler's actions after the end of its run. */
export const outlivingCases: readonly InboxCase[] = [
  test('late-handled: MUST NOT write what a handler sends when it is handled, also not with the next delivery.', (runner) =>
    goOn(runner, () => {}, 'handled')),

  test('late-discarded: MUST NOT write what a handler sends when it is discarded.', (runner) =>
    goOn(
      runner,
      () => {
        throw new Discard('unwanted')
      },
      'discarded',
    )),

  test('given-up: MUST roll back at once when its work rejects, though the handler goes on, as at maxRunMs.', (runner) =>
    goOn(
      runner,
      (run) => {
        attempt(run, 'pending')
        throw new Error('given up')
      },
      'rejected',
    )),

  test('nested [nest]: MUST NOT let a nested transaction that is left open into the next delivery.', async (runner) => {
    const inbox = await runner.open(1)
    const entered = deferred()
    const released = deferred()
    const first: Work = async ({ tx, write }) => {
      await write('first')
      const nested = runner.harness.nest(tx, async (inner) => {
        await write('inner', inner)
        entered.resolve()
        await runner.until(released.promise)
        await write('late', inner)
      })
      nested.catch(() => {})
      await Promise.race([entered.promise, nested])
    }
    const { end } = await inbox.deliver('1', first, ['handled', 'rejected'])
    const second: Work = async ({ write }) => {
      await write('second')
      released.resolve()
      for (let turns = 0; turns < 3; turns++) await turn()
      await write('more')
    }
    // The inbox may have given up the connection, or refuse the first use of it.
    await inbox.deliverUntilDone('2', writing('between'))
    await inbox.deliver('3', second, 'handled')
    await inbox.deliver('4', writing('third'), 'handled')
    // If the event was handled, the nested transaction is committed with it or rolled back.
    const inner = (await runner.effects()).filter((effect) => effect === 'inner').slice(0, 1)
    await runner.expectEffects(
      ...(end === 'handled' ? ['first', ...inner] : []),
      'between',
      'more',
      'second',
      'third',
    )
  }),
]
