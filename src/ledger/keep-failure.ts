import { PAUSES_MS, STATEMENT_MS, STORE_CALL_MS } from '../durations.js'
import { StoreError } from '../errors.js'
import { shownMessageOf } from '../lib/errors/shown-message.js'
import type { FailedDelivery } from './failure.js'
import type { GuardedDelivery, WorkEnd } from './guard.js'
import { isLedger, type KeepResult, type KeepsFailures } from './store.js'
import { readKeepResult, validated } from './store-call.js'

/** The part of a delivery that keeping its failure needs. */
type Failing = Pick<GuardedDelivery, 'failureOf' | 'clock' | 'replay' | 'report' | 'track' | 'vacate'>

/**
 * Keeps the failure of a delivery that has no lease, if the backend is a ledger. It is sent once, because a backend could not tell a second copy from another failure: what is
 * not kept now is kept at the next retry. Never rejects: what fails is reported.
 *
 * @returns whether the event is parked now, and this is no replay
 */
export async function keepFailure(
  backend: object,
  delivery: Failing,
  end: WorkEnd,
  retainMs: number,
): Promise<boolean> {
  if (!isLedger(backend)) return false
  let failed: FailedDelivery | undefined
  try {
    failed = await delivery.failureOf(end, retainMs)
    if (failed === undefined) return false
    const { clock } = delivery
    const keeping = send(backend, failed, delivery)
    // Many that fail together must not hold up those that do not, and their senders do not wait for each other.
    delivery.vacate(Promise.resolve())
    const kept = await clock.within(keeping, clock.nowMs + STORE_CALL_MS, () => 'later' as const)
    if (kept === 'later' || kept === 'in_flight')
      delivery.track(keepLater(keeping, backend, failed, delivery))
    return kept === 'parked' && delivery.replay === undefined
  } catch (error) {
    delivery.report(notKept(failed, error))
    return false
  }
}

async function send(
  backend: KeepsFailures,
  failed: FailedDelivery,
  { clock }: Pick<Failing, 'clock'>,
): Promise<KeepResult> {
  const sent = Promise.resolve().then(() => backend.keep(failed))
  const kept = await clock.within<unknown>(sent, clock.nowMs + STATEMENT_MS, () => {
    throw new StoreError('store_unavailable', 'it took too long.')
  })
  return validated('keep', kept, readKeepResult)
}

/** While another delivery of the event runs: if it succeeds there is nothing to keep; if it takes longer, it keeps its own failure. */
async function keepLater(
  keeping: Promise<KeepResult>,
  backend: KeepsFailures,
  failed: FailedDelivery,
  delivery: Failing,
): Promise<void> {
  try {
    let kept = await keeping
    for (const pauseMs of PAUSES_MS) {
      if (kept !== 'in_flight') return
      await delivery.clock.pause(pauseMs, true)
      kept = await send(backend, failed, delivery)
    }
  } catch (error) {
    delivery.report(notKept(failed, error))
  }
}

/** The error for a failure that was not kept: the answer is as without it. */
export function notKept(failed: Pick<FailedDelivery, 'key'> | undefined, cause: unknown): StoreError {
  return new StoreError(
    'not_kept',
    `The failure of ${failed?.key ?? 'an event'} could not be kept: ${shownMessageOf(cause)}`,
    { cause },
  )
}
