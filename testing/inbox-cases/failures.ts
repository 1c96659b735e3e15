import { Discard } from '../../src/index.js'
import { isLedger } from '../../src/internal.js'
import { send } from '../store-cases/model.js'
import { stepsOf } from '../store-cases/steps.js'
import type { InboxCaseRunner, Work } from './case-runner.js'
import { failing } from './ends.js'
import { type InboxCase, type InboxCaseParts, test } from './inbox-case.js'
import { held } from './overlap.js'

const PARK = { parkAfter: { attempts: 1 } }
const MINUTE_MS = 60_000

/** Work that fails the case unless it is this attempt. */
function attempting(runner: InboxCaseRunner, attempt: number, effect: string): Work {
  return async (run) => {
    if (run.attempt !== attempt)
      runner.fail(`expected attempt ${attempt}, but the work was told ${run.attempt}`)
    await run.write(effect)
  }
}

async function meanwhile<Answer>(
  runner: InboxCaseParts,
  act: () => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly end: string }> {
  const { work, entered, release } = held(runner, 'held')
  const delivered = runner.deliver('1', work, ['handled', 'duplicate', 'in_flight'])
  await Promise.race([entered, delivered])
  const answer = await act()
  release()
  return { answer, end: (await delivered).end }
}

/** Failures in the record of the event, for an inbox that is a ledger. */
export const failureCases: readonly InboxCase[] = [
  test('failure [ledger]: MUST keep a failure after its run, count the next attempt, and remove it when the event is handled.', async (runner) => {
    await runner.expectState('1', 'absent')
    await runner.deliver('1', failing(new Error('mine'), 'failed'), 'rejected')
    await runner.keep('1', 'failing')
    await runner.expectState('1', 'failing 1')
    await runner.keep('1', 'failing', { isReplay: true })
    await runner.expectState('1', 'failing 1+1')
    await runner.deliver('1', attempting(runner, 3, 'a'), 'handled')
    const found = await runner.expectState('1', 'handled')
    if (found?.rawBody !== undefined || found?.attempts !== 3 || found.handledAt === undefined)
      runner.fail('expected the event to have 3 attempts, a date, and no bytes')
    await runner.keep('1', 'handled')
    await runner.expectState('1', 'handled')
    await runner.deliver('2', attempting(runner, 1, 'b'), 'handled')
    await runner.expectEffects('a', 'b')
  }),

  test('failure-discarded [ledger]: MUST remove the failure of an event that is discarded, and record the reason.', async (runner) => {
    await runner.keep('1', 'failing')
    await runner.deliver('1', failing(new Discard('unwanted'), 'discarded'), 'discarded')
    const found = await runner.expectState('1', 'discarded')
    if (found?.reason !== 'unwanted')
      runner.fail(`expected the reason 'unwanted', but it is '${found?.reason}'`)
    await runner.keep('1', 'handled')
    await runner.deliver('1', runner.mustNotRun, 'duplicate')
  }),

  test('parked [ledger]: MUST run a parked event for a replay alone, and only if it has failed as often as when it was listed.', async (runner) => {
    await runner.keep('1', 'parked', PARK)
    await runner.deliver('1', runner.mustNotRun, 'parked')
    await (await runner.open(1)).deliver('1', runner.mustNotRun, 'parked')
    await runner.deliver('1', runner.mustNotRun, 'in_flight', { replay: { seen: 0 } })
    await runner.deliver('1', failing(new Error('mine'), 'failed'), 'rejected', { replay: { seen: 1 } })
    await runner.keep('1', 'parked', { isReplay: true })
    await runner.expectState('1', 'parked 1+1')
    await runner.deliver('1', runner.mustNotRun, 'in_flight', { replay: { seen: 1 } })
    await runner.deliver('1', attempting(runner, 3, 'a'), 'handled', { replay: { seen: 2 } })
    await runner.deliver('1', runner.mustNotRun, 'duplicate', { replay: { seen: 2 } })
    await runner.expectState('1', 'handled')
    await runner.expectEffects('a')
  }),

  test('keep-in-flight [ledger]: MUST leave nothing against an event that another delivery handles meanwhile.', async (runner) => {
    const other = await runner.open(1)
    await runner.keep('1', 'failing')
    // A database without locks keeps it, and the commit removes it.
    await meanwhile(runner, () => other.keep('1', ['in_flight', 'failing']))
    await runner.expectState('1', 'handled')
    await runner.expectEffects('held')
  }),

  test('discard-in-flight [ledger]: MUST NOT discard an event by hand that is being handled.', async (runner) => {
    const { inbox: other } = await runner.open(1)
    await runner.keep('1', 'failing')
    const { answer, end } = await meanwhile(runner, async () =>
      isLedger(other) ? other.ledger.discard(runner.keyOf('1'), { reason: 'a test order' }) : undefined,
    )
    const isHandled = end === 'handled'
    if (answer !== (isHandled ? 'in_flight' : 'discarded'))
      runner.fail(`the delivery was ${end}, but the discard at the same time returned ${answer}`)
    await runner.expectState('1', isHandled ? 'handled' : 'discarded')
    await runner.expectEffects(...(isHandled ? ['held'] : []))
  }),

  test('forget [ledger]: MUST remove all that it knows of an event.', async (runner) => {
    const forget = async (expected: boolean): Promise<void> => {
      const answer = isLedger(runner.inbox) && (await runner.inbox.forget(runner.keyOf('1')))
      if (answer !== expected) runner.fail(`forget: expected ${expected}, but it returned ${answer}`)
    }
    await forget(false)
    await runner.keep('1', 'failing')
    await runner.keep('2', 'failing')
    await forget(true)
    await runner.expectState('1', 'absent')
    await runner.expectState('2', 'failing 1')
    await runner.deliver('1', attempting(runner, 1, 'a'), 'handled')
    await forget(true)
    await runner.deliver('1', attempting(runner, 1, 'b'), 'handled')
    await runner.expectEffects('a', 'b')
  }),

  test('lease [store]: MUST NOT run an event that a store on the same table has a lease on.', async (runner) => {
    const store = await runner.harness.store()
    const subject = { key: runner.keyOf('1'), tokens: { a: 'a', b: 'b' } }
    const ask = async (text: string): Promise<unknown> => {
      const [step] = stepsOf(text, [subject])
      return step && 'key' in step.action ? send(store, step.action) : undefined
    }
    const expectAnswer = async (text: string, expected: string | boolean): Promise<void> => {
      const answer = await ask(text)
      const came = typeof answer === 'object' ? (answer as { status?: unknown } | null)?.status : answer
      if (came !== expected)
        runner.fail(`${text} of the store: expected ${expected}, but it returned ${String(came)}`)
    }
    await expectAnswer('a claim', 'claimed')
    await runner.deliver('1', runner.mustNotRun, 'in_flight')
    await expectAnswer('a renew', true)
    await expectAnswer('a release', true)
    // A database without locks grants it, and the transaction finds the lease when it commits.
    const { answer, end } = await meanwhile(runner, () => ask('b claim'))
    const { status } = Object(answer)
    if (status !== (end === 'handled' ? 'in_flight' : 'claimed'))
      runner.fail(`the delivery was ${end}, but the claim at the same time was ${status}`)
    if (status === 'claimed') await expectAnswer('b complete', true)
    else await expectAnswer('a complete', false)
    await expectAnswer('a claim', 'completed')
    await runner.deliver('1', runner.mustNotRun, 'duplicate')
    await runner.expectEffects(...(end === 'handled' ? ['held'] : []))
  }),

  test('failure-retained [ledger advance]: MUST forget a failure after its retention.', async (runner) => {
    await runner.keep('1', 'parked', { ...PARK, retainMs: 5 * MINUTE_MS })
    await runner.harness.advance(3 * MINUTE_MS)
    await runner.deliver('1', runner.mustNotRun, 'parked')
    await runner.harness.advance(3 * MINUTE_MS)
    await runner.expectState('1', 'absent')
    await runner.deliver('1', attempting(runner, 1, 'a'), 'handled')
  }),
]
