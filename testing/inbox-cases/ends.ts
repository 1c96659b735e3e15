import { Discard } from '../../src/index.js'
import type { Work } from './case-runner.js'
import { type InboxCase, type InboxCaseParts, test } from './inbox-case.js'

export function writing(...effects: readonly string[]): Work {
  return async ({ write }) => {
    for (const effect of effects) await write(effect)
  }
}

/** Writes, and then rejects. */
export function failing(error: unknown, effect: string): Work {
  return async ({ write }) => {
    await write(effect)
    throw error
  }
}

/** Sends a statement that fails, and continues. */
async function swallow(runner: InboxCaseParts, tx: unknown): Promise<void> {
  const hasFailed = await runner.harness.fail(tx).then(
    () => false,
    () => true,
  )
  if (!hasFailed)
    runner.fail("the harness's fail() resolved, but it must send a statement that fails, and reject")
}

/** A handler may throw anything. */
const ERRORS: readonly unknown[] = [
  new Error('mine'),
  new TypeError('mine'),
  'text',
  { status: 'handled' },
  0,
  null,
  undefined,
]

/** How a delivery ends. */
export const endCases: readonly InboxCase[] = [
  test('handled: MUST commit all that its work has written when that resolves, and nothing before.', async (runner) => {
    const work: Work = async ({ write }) => {
      await write('a')
      await write('b')
      await runner.expectEffects()
    }
    await runner.deliver('1', work, 'handled')
    await runner.expectEffects('a', 'b')
  }),

  test('duplicate: MUST NOT call the work of an event that is handled, by whichever inbox.', async (runner) => {
    await runner.deliver('1', writing('a'), 'handled')
    await runner.deliver('1', runner.mustNotRun, 'duplicate')
    await (await runner.open(2)).deliver('1', runner.mustNotRun, 'duplicate')
    await runner.expectEffects('a')
  }),

  test('handled-empty: MUST record an event whose work writes nothing.', async (runner) => {
    await runner.deliver('1', async () => {}, 'handled')
    await runner.deliver('1', runner.mustNotRun, 'duplicate')
  }),

  test('failed: MUST roll back and reject if its work rejects, with whatever, and run the next delivery.', async (runner) => {
    for (const [index, error] of ERRORS.entries()) {
      await runner.deliver(`${index}`, failing(error, 'failed'), 'rejected')
    }
    await runner.expectEffects()
    for (const index of ERRORS.keys()) await runner.deliver(`${index}`, writing(`${index}`), 'handled')
    await runner.expectEffects(...ERRORS.map((_, index) => `${index}`))
  }),

  test('failed-error: SHOULD reject with the very error of its work.', async (runner) => {
    for (const [index, thrown] of ERRORS.entries()) {
      const { error } = await runner.deliver(`${index}`, failing(thrown, 'failed'), 'rejected')
      if (error !== thrown)
        runner.fail(
          `expected the error of the work, ${String(thrown)}, but it was rejected with ${String(error)}`,
        )
    }
  }),

  test('discarded: MUST roll back and record the event if its work rejects with Discard.', async (runner) => {
    await runner.deliver('1', failing(new Discard('unwanted'), 'discarded'), 'discarded')
    await runner.deliver('1', runner.mustNotRun, 'duplicate')
    await runner.expectEffects()
  }),

  test('discarded-failed [fail]: MUST record an event that is discarded because a statement failed.', async (runner) => {
    const work: Work = async ({ tx, write }) => {
      await write('discarded')
      await swallow(runner, tx)
      throw new Discard('it is there already')
    }
    await runner.deliver('1', work, 'discarded')
    await runner.deliver('1', runner.mustNotRun, 'duplicate')
    await runner.expectEffects()
  }),

  test('null-key: MUST run each delivery without a key in a transaction of its own.', async (runner) => {
    await runner.deliver(null, writing('a'), 'handled')
    await runner.deliver(null, failing(new Error('mine'), 'failed'), 'rejected')
    await runner.deliver(null, failing(new Discard('unwanted'), 'discarded'), 'discarded')
    await runner.deliver(null, writing('b'), 'handled')
    await runner.expectEffects('a', 'b')
  }),

  test('swallowed [fail]: MUST NOT end as handled without the writes, if its work swallows the error of a statement.', async (runner) => {
    const written = ['before']
    const work: Work = async ({ tx, write }) => {
      await write('before')
      await swallow(runner, tx)
      await write('after').then(
        () => written.push('after'),
        () => {},
      )
    }
    const { end } = await runner.deliver('1', work, ['handled', 'rejected'])
    if (end === 'handled') return runner.expectEffects(...written)
    await runner.expectEffects()
    await runner.deliver('1', writing('again'), 'handled')
    await runner.expectEffects('again')
  }),
]
