import {
  DEFAULT_LEDGER_RETENTION_SECONDS,
  DEFAULT_RETENTION_SECONDS,
  MAX_RETENTION_SECONDS,
  MIN_RETENTION_SECONDS,
} from '../../durations.js'
import { describeValue } from '../../lib/describe-type.js'

/**
 * Checks the option `retentionSeconds` of an inbox that remembers changes, as the receiver checks its own.
 *
 * @param value in seconds. Default 2,592,000 (30 days)
 * @returns the value, or the default
 * @throws TypeError when it is less than 262,800 (73 h), because the sender retries for 72, or more than a hundred years
 */
export function checkRetentionSeconds(value: number = DEFAULT_LEDGER_RETENTION_SECONDS): number {
  return retentionSeconds(value, MIN_RETENTION_SECONDS, 'the sender retries for 72 h')
}

/**
 * The retention of events, in milliseconds: in a ledger, and in a store or an inbox alone. A failure must not be kept for longer than the record
 * of its event, or a replay could run what was handled and forgotten; so there is one retention for both, and a ledger's is longer.
 *
 * @param bounds what a record must outlive, in seconds: a delivery within the tolerance, a lease, a run
 */
export function retentionOf(
  value: number | undefined,
  ...bounds: number[]
): { ledger: number; alone: number } {
  const floor = Math.max(MIN_RETENTION_SECONDS, ...bounds)
  const reason =
    'the sender retries for 72 h, and a record must outlive toleranceSeconds, leaseSeconds and maxRunSeconds'
  const [ledger, alone] = [DEFAULT_LEDGER_RETENTION_SECONDS, DEFAULT_RETENTION_SECONDS].map(
    (byDefault) => retentionSeconds(value ?? byDefault, floor, reason) * 1000,
  ) as [number, number]
  return { ledger, alone }
}

function retentionSeconds(value: number, floor: number, reason: string): number {
  if (typeof value !== 'number' || !(value >= floor) || value > MAX_RETENTION_SECONDS) {
    throw new TypeError(
      `retentionSeconds must be a number of at least ${floor} and at most ${MAX_RETENTION_SECONDS}, not ${describeValue(value)}: ${reason}.`,
    )
  }
  return value
}
