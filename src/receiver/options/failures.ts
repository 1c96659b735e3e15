import type { ParkTerms } from '../../ledger/failure.js'
import { isLedger } from '../../ledger/store.js'
import { checkWholeNumber } from '../../lib/check-number.js'
import { defined } from '../../lib/defined.js'
import { describeValue } from '../../lib/describe-type.js'
import { checkOptionNames } from '../../lib/option-names.js'
import type { FailureTerms } from '../failure/delivery-failure.js'
import type { ParkAfter, WebhookOptions } from './options.js'

/**
 * The options `keep` and `parkAfter`, checked; `undefined` if nothing is kept.
 *
 * @param backend the store or the inbox; `undefined` if it is a function of the request, which may make a ledger
 * @throws TypeError when one is invalid, or there is `parkAfter` and nothing is kept
 */
export function failureTermsOf(
  { keep = 'failed', parkAfter }: Pick<WebhookOptions, 'keep' | 'parkAfter'>,
  backend: object | undefined,
  namespace: string,
): FailureTerms | undefined {
  if (keep !== 'failed' && keep !== 'nothing') {
    throw new TypeError(`keep must be 'failed' or 'nothing', not ${describeValue(keep)}.`)
  }
  const terms = parkAfter === undefined ? undefined : checkedParkAfter(parkAfter)
  if (keep === 'failed' && (backend === undefined || isLedger(backend))) {
    if (terms !== undefined && (backend as { isVolatile?: boolean } | undefined)?.isVolatile === true)
      warnOfMemory()
    return { parkAfter: terms, namespace }
  }
  if (terms === undefined) return undefined
  throw new TypeError(
    keep === 'nothing'
      ? "parkAfter needs keep: 'failed': a parked event is answered 200, and waits with its bytes for a replay."
      : 'parkAfter needs a ledger: a parked event is answered 200, and waits there for a replay. Redis keeps no failures: use a store or an inbox on Postgres, MySQL, SQLite, D1 or Durable Objects.',
  )
}

let hasWarned = false

function warnOfMemory(): void {
  if (hasWarned) return
  hasWarned = true
  console.warn(
    'tix-webhooks: parkAfter is set with a store in memory: what is parked was answered 200, and is gone when this process ends. Use a store or an inbox on a database.',
  )
}

function checkedParkAfter(given: ParkAfter): ParkTerms {
  const { attempts, hours } = checkOptionNames(given, ['attempts', 'hours'], 'parkAfter.')
  if (attempts === undefined && hours === undefined) {
    throw new TypeError('parkAfter is empty: give it attempts, hours or both, such as { attempts: 8 }.')
  }
  if (attempts !== undefined) checkWholeNumber('parkAfter.attempts', attempts)
  if (hours !== undefined && !(typeof hours === 'number' && hours > 0 && Number.isFinite(hours))) {
    throw new TypeError(`parkAfter.hours must be a number above 0, not ${describeValue(hours)}.`)
  }
  return defined({ attempts, ms: hours && hours * 3_600_000 })
}
