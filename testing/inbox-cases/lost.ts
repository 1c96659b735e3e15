import { deferred } from '../../src/internal.js'
import type { Work } from './case-runner.js'
import { writing } from './ends.js'
import { caseNeeding, type InboxCase } from './inbox-case.js'

/** Connections that are lost. */
export const lostCases: readonly InboxCase[] = [
  caseNeeding(
    'cut',
    'lost-idle',
    'MUST recover from the loss of a connection between two deliveries.',
    async (runner, inbox, cut) => {
      await inbox.deliver('1', writing('a'), 'handled')
      await cut('now')
      await inbox.deliverUntilDone('2', writing('b'))
      await runner.expectEffects('a', 'b')
    },
  ),

  caseNeeding(
    'cut',
    'lost-running',
    'MUST reject if its connection is lost while the work runs, and run the next delivery.',
    async (runner, inbox, cut) => {
      const work: Work = async ({ write }) => {
        await write('lost')
        await cut('now')
      }
      await inbox.deliver('1', work, 'rejected')
      await runner.expectEffects()
      await inbox.deliverUntilDone('1', writing('again'))
      await runner.expectEffects('again')
    },
  ),

  caseNeeding(
    'cut',
    'lost-at-once',
    'SHOULD reject when its connection is lost, though the work has not ended.',
    async (runner, inbox, cut) => {
      const released = deferred()
      const work: Work = async ({ write }) => {
        await write('lost')
        await cut('now')
        await runner.until(released.promise)
      }
      await inbox.deliver('1', work, 'rejected')
      released.resolve()
      await runner.expectEffects()
    },
  ),

  caseNeeding(
    'cut',
    'lost-commit',
    'MUST reject if its COMMIT is lost, and run the next delivery.',
    async (runner, inbox, cut) => {
      const work: Work = async ({ write }) => {
        await write('lost')
        await cut('before commit')
      }
      await inbox.deliver('1', work, 'rejected')
      await inbox.deliverUntilDone('1', writing('again'))
      await runner.expectEffects('again')
    },
  ),

  caseNeeding(
    'cut',
    'lost-reply',
    'MUST reject if the reply to its COMMIT is lost, and keep the effects once.',
    async (runner, inbox, cut) => {
      const work: Work = async ({ write }) => {
        await write('first')
        await cut('after commit')
      }
      await inbox.deliver('1', work, 'rejected')
      const end = await inbox.deliverUntilDone('1', writing('second'))
      await runner.expectEffects(end === 'handled' ? 'second' : 'first')
      await inbox.deliver('1', runner.mustNotRun, 'duplicate')
    },
  ),
]
