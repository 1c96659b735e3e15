import type { MaybePromise } from '../lib/maybe-promise.js'
import { type Denial, type GuardedFailure, isDone, PARKED, type Work, type WorkEnd } from './guard.js'

/** The end of a run whose failure is parked. */
interface ParkedEnd extends WorkEnd {
  readonly outcome: 'parked'
}

/**
 * Calls `run` with work that keeps its failure, or removes it once the event is done, before the grant is given back: until then no other
 * delivery of the event runs, and a process that dies leaves no failure of an event that is recorded as done. Work whose failure is parked is
 * not called, unless it is a replay.
 *
 * @param mayBeKept whether there may be a failure of an earlier delivery
 */
export async function runKeeping<End extends WorkEnd>(
  failure: GuardedFailure,
  mayBeKept: boolean,
  work: Work<End>,
  run: (work: Work<End | ParkedEnd>) => MaybePromise<End | ParkedEnd>,
): Promise<End | Denial> {
  const ended = await run(async (grant) => {
    if (mayBeKept && (await isParked(failure))) return { outcome: 'parked' }
    const end = await work(grant)
    if (isDone(end)) {
      await removeKept(failure)
      return end
    }
    const isNowParked = (await failure.keep(end)) === 'parked'
    return isNowParked && !failure.isReplay ? { outcome: 'parked', error: end.error } : end
  })
  if (!isParkedEnd(ended)) return ended
  return ended.error === undefined ? PARKED : { ...PARKED, error: ended.error }
}

/** Whether the event waits for a replay, and this delivery is not one. */
export async function isParked(failure: GuardedFailure): Promise<boolean> {
  return !failure.isReplay && (await failure.find()) === 'parked'
}

/** To be called when the event is done. */
export async function removeKept(failure: GuardedFailure): Promise<void> {
  if (failure.isKept) await failure.remove()
}

function isParkedEnd(end: WorkEnd): end is ParkedEnd {
  return end.outcome === 'parked'
}
