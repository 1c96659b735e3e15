import {
  DEFAULT_FAILURE_RETENTION_SECONDS,
  DEFAULT_RETENTION_SECONDS,
  MAX_RETENTION_SECONDS,
  MIN_RETENTION_SECONDS,
} from '../../durations.js'
import { describeValue } from '../../lib/describe-type.js'

/**
 * Checks the option `retentionSeconds` of an inbox that remembers changes, as the receiver checks its own.
 *
 * @param value in seconds. Default 604,800 (7 days)
 * @returns the value, or the default
 * @throws TypeError when it is less than 262,800 (73 h), because the sender retries for 72, or more than a hundred years
 */
export function checkRetentionSeconds(value: number = DEFAULT_RETENTION_SECONDS): number {
  return retentionSeconds(value, MIN_RETENTION_SECONDS, 'the sender retries for 72 h')
}

/**
 * The retention of records.
 *
 * @param failures that may be replayed: a record must not be forgotten before a failure of its event that was left, or that would run again
 * @param bounds what a record must outlive: a delivery within the tolerance, a lease, a run */
export function recordRetentionSeconds(
  value: number | undefined,
  failures: { readonly retentionSeconds?: number } | undefined,
  ...bounds: number[]
): number {
  const forFailures =
    failures === undefined ? 0 : (failures.retentionSeconds ?? DEFAULT_FAILURE_RETENTION_SECONDS)
  const byDefault = Math.max(DEFAULT_RETENTION_SECONDS, forFailures)
  const reason =
    'the sender retries for 72 h, and a record must outlive toleranceSeconds, leaseSeconds and maxRunSeconds'
  return retentionSeconds(
    value === undefined ? byDefault : value,
    Math.max(MIN_RETENTION_SECONDS, ...bounds),
    reason,
  )
}

function retentionSeconds(value: number, floor: number, reason: string): number {
  if (typeof value !== 'number' || !(value >= floor) || value > MAX_RETENTION_SECONDS) {
    throw new TypeError(
      `retentionSeconds must be a number of at least ${floor} and at most ${MAX_RETENTION_SECONDS}, not ${describeValue(value)}: ${reason}.`,
    )
  }
  return value
}
