import { deferred } from '../../src/internal.js'
import type { Work } from './case-runner.js'
import { writing } from './ends.js'
import type { InboxCut } from './harness.js'
import { type InboxCase, type InboxCaseParts, test } from './inbox-case.js'

/** Work that writes, and loses its connection. */
function losing(runner: InboxCaseParts, effect: string, when: InboxCut): Work {
  return async ({ write }) => {
    await write(effect)
    await runner.harness.cut(when)
  }
}

/** Connections that are lost. */
export const lostCases: readonly InboxCase[] = [
  test('lost-idle [cut]: MUST recover from the loss of a connection between two deliveries.', async (runner) => {
    await runner.deliver('1', writing('a'), 'handled')
    await runner.harness.cut('now')
    await runner.deliverUntilDone('2', writing('b'))
    await runner.expectEffects('a', 'b')
  }),

  test('lost-running [cut]: MUST reject if its connection is lost while the work runs, and run the next delivery.', async (runner) => {
    await runner.deliver('1', losing(runner, 'lost', 'now'), 'rejected')
    await runner.expectEffects()
    await runner.deliverUntilDone('1', writing('again'))
    await runner.expectEffects('again')
  }),

  test('lost-at-once [cut]: SHOULD reject when its connection is lost, though the work has not ended.', async (runner) => {
    const released = deferred()
    const work: Work = async (run) => {
      await losing(runner, 'lost', 'now')(run)
      await runner.until(released.promise)
    }
    await runner.deliver('1', work, 'rejected')
    released.resolve()
    await runner.expectEffects()
  }),

  test('lost-commit [cut]: MUST reject if its COMMIT is lost, and run the next delivery.', async (runner) => {
    await runner.deliver('1', losing(runner, 'lost', 'before commit'), 'rejected')
    await runner.deliverUntilDone('1', writing('again'))
    await runner.expectEffects('again')
  }),

  test('lost-reply [cut]: MUST reject if the reply to its COMMIT is lost, and keep the effects once.', async (runner) => {
    await runner.deliver('1', losing(runner, 'first', 'after commit'), 'rejected')
    const end = await runner.deliverUntilDone('1', writing('second'))
    await runner.expectEffects(end === 'handled' ? 'second' : 'first')
    await runner.deliver('1', runner.mustNotRun, 'duplicate')
  }),
]
