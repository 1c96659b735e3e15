import type { Guard } from '../../ledger/guard.js'
import { type Outcome, parked } from '../outcome.js'
import type { DeliveryState } from '../state.js'

/**
 * Keeps the failure of an authentic delivery that ended before its run, such as one that cannot be read: before the answer if there is time,
 * else after it.
 *
 * @returns the outcome, or `parked` if the failure is by now
 */
export async function keptBeforeRun<Request>(
  outcome: Outcome,
  state: DeliveryState<Request>,
  guard: Guard<Request>,
): Promise<Outcome> {
  const { failure, clock } = state
  if (failure === undefined || !failure.isKeptAs(outcome)) return outcome
  const keeping = failure
    .identify()
    .then(() => guard.keep(state.key ?? null, state, outcome))
    .catch((error) => {
      state.report(error)
      return false
    })
  state.track(keeping)
  const isParked = await clock.inTime(keeping, () => false)
  return isParked && !failure.isReplay ? parked(outcome.error) : outcome
}
