import { Discard } from '../../src/index.js'
import type { InboxCaseRunner, Work } from './case-runner.js'
import { caseNeeding, defineCase, type InboxCase } from './inbox-case.js'

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
async function swallow(
  runner: InboxCaseRunner,
  fail: (tx: unknown) => Promise<unknown>,
  tx: unknown,
): Promise<void> {
  const hasFailed = await fail(tx).then(
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
  defineCase(
    'handled',
    'MUST commit all that its work has written when that resolves, and nothing before.',
    async (runner, inbox) => {
      const work: Work = async ({ write }) => {
        await write('a')
        await write('b')
        await runner.expectEffects()
      }
      await inbox.deliver('1', work, 'handled')
      await runner.expectEffects('a', 'b')
    },
  ),

  defineCase(
    'duplicate',
    'MUST NOT call the work of an event that is handled, by whichever inbox.',
    async (runner, inbox) => {
      await inbox.deliver('1', writing('a'), 'handled')
      await inbox.deliver('1', runner.mustNotRun, 'duplicate')
      await (await runner.open(2)).deliver('1', runner.mustNotRun, 'duplicate')
      await runner.expectEffects('a')
    },
  ),

  defineCase('handled-empty', 'MUST record an event whose work writes nothing.', async (runner, inbox) => {
    await inbox.deliver('1', async () => {}, 'handled')
    await inbox.deliver('1', runner.mustNotRun, 'duplicate')
  }),

  defineCase(
    'failed',
    'MUST roll back and reject if its work rejects, with whatever, and run the next delivery.',
    async (runner, inbox) => {
      for (const [index, error] of ERRORS.entries()) {
        await inbox.deliver(`${index}`, failing(error, 'failed'), 'rejected')
      }
      await runner.expectEffects()
      for (const index of ERRORS.keys()) await inbox.deliver(`${index}`, writing(`${index}`), 'handled')
      await runner.expectEffects(...ERRORS.map((_, index) => `${index}`))
    },
  ),

  defineCase('failed-error', 'SHOULD reject with the very error of its work.', async (runner, inbox) => {
    for (const [index, thrown] of ERRORS.entries()) {
      const { error } = await inbox.deliver(`${index}`, failing(thrown, 'failed'), 'rejected')
      if (error !== thrown)
        runner.fail(
          `expected the error of the work, ${String(thrown)}, but it was rejected with ${String(error)}`,
        )
    }
  }),

  defineCase(
    'discarded',
    'MUST roll back and record the event if its work rejects with Discard.',
    async (runner, inbox) => {
      await inbox.deliver('1', failing(new Discard('unwanted'), 'discarded'), 'discarded')
      await inbox.deliver('1', runner.mustNotRun, 'duplicate')
      await runner.expectEffects()
    },
  ),

  caseNeeding(
    'fail',
    'discarded-failed',
    'MUST record an event that is discarded because a statement failed.',
    async (runner, inbox, fail) => {
      const work: Work = async ({ tx, write }) => {
        await write('discarded')
        await swallow(runner, fail, tx)
        throw new Discard('it is there already')
      }
      await inbox.deliver('1', work, 'discarded')
      await inbox.deliver('1', runner.mustNotRun, 'duplicate')
      await runner.expectEffects()
    },
  ),

  defineCase(
    'null-key',
    'MUST run each delivery without a key in a transaction of its own.',
    async (runner, inbox) => {
      await inbox.deliver(null, writing('a'), 'handled')
      await inbox.deliver(null, failing(new Error('mine'), 'failed'), 'rejected')
      await inbox.deliver(null, failing(new Discard('unwanted'), 'discarded'), 'discarded')
      await inbox.deliver(null, writing('b'), 'handled')
      await runner.expectEffects('a', 'b')
    },
  ),

  caseNeeding(
    'fail',
    'swallowed',
    'MUST NOT end as handled without the writes, if its work swallows the error of a statement.',
    async (runner, inbox, fail) => {
      const written = ['before']
      const work: Work = async ({ tx, write }) => {
        await write('before')
        await swallow(runner, fail, tx)
        await write('after').then(
          () => written.push('after'),
          () => {},
        )
      }
      const { end } = await inbox.deliver('1', work, ['handled', 'rejected'])
      if (end === 'handled') return runner.expectEffects(...written)
      await runner.expectEffects()
      await inbox.deliver('1', writing('again'), 'handled')
      await runner.expectEffects('again')
    },
  ),
]
