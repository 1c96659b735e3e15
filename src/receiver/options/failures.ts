import type { FailedDelivery, Failures } from '../../ledger/failures/failures.js'
import { checkWholeNumber } from '../../lib/check-number.js'
import { describeType, describeValue } from '../../lib/describe-type.js'
import { checkOptionNames } from '../../lib/option-names.js'
import type { FailureTerms } from '../failure/delivery-failure.js'
import type { ParkAfter, WebhookOptions } from './options.js'

/**
 * The options `failures` and `parkAfter`, checked; `undefined` if no failures are kept.
 *
 * @throws TypeError when one is invalid, or there is `parkAfter` without failures
 */
export function failureTermsOf(
  { failures, parkAfter }: Pick<WebhookOptions, 'failures' | 'parkAfter'>,
  namespace: string,
  now: () => number,
): FailureTerms | undefined {
  if (failures === undefined) {
    if (parkAfter === undefined) return undefined
    throw new TypeError(
      'parkAfter needs the option failures: a parked event is answered 200, and waits there for a replay.',
    )
  }
  return {
    failures: checkedFailures(failures),
    parkAfter: parkAfter === undefined ? undefined : checkedParkAfter(parkAfter),
    namespace,
    now,
    pause: { untilMs: Number.NEGATIVE_INFINITY },
    check: typeof failures.check === 'function' ? () => failures.check?.() : undefined,
  }
}

function checkedFailures(failures: unknown): Failures {
  for (const method of ['keep', 'get', 'delete', 'list', 'groups', 'count'] as const) {
    if (typeof (failures as Failures | null)?.[method] !== 'function') {
      throw new TypeError(
        `failures must be made by postgresFailures, mysqlFailures, sqliteFailures or memoryFailures, or be Failures of your own, not ${describeType(failures)}: its ${method} is not a function.`,
      )
    }
  }
  return failures as Failures
}

function checkedParkAfter(given: ParkAfter): FailedDelivery['parkAfter'] {
  const { attempts, hours } = checkOptionNames(given, ['attempts', 'hours'], 'parkAfter.')
  if (attempts === undefined && hours === undefined) {
    throw new TypeError('parkAfter is empty: give it attempts, hours or both, such as { attempts: 8 }.')
  }
  if (attempts !== undefined) checkWholeNumber('parkAfter.attempts', attempts)
  if (hours !== undefined && !(typeof hours === 'number' && hours > 0 && Number.isFinite(hours))) {
    throw new TypeError(`parkAfter.hours must be a number above 0, not ${describeValue(hours)}.`)
  }
  return {
    ...(attempts === undefined ? {} : { attempts }),
    ...(hours === undefined ? {} : { ms: hours * 3_600_000 }),
  }
}
