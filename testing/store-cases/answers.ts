import type { ClaimResult, KeepResult } from '../../src/index.js'

/**
 * The expected answer to a call: `unknown` is that of a discard to an event that is not known. The time of an `in_flight` stands for a range, because
 * time passes while a case runs.
 */
export type ExpectedAnswer = ClaimResult | boolean | KeepResult | 'discarded' | 'unknown'

export const MINUTE_MS = 60_000

/** The most that rounding adds, if a store keeps fractions of milliseconds. */
const ROUNDING_MS = 1

export function claimed(attempt: number): ClaimResult {
  return { status: 'claimed', attempt }
}

export const completed: ClaimResult = { status: 'completed' }

/** Another token has a lease, with this many minutes left. */
export function inFlight(minutes: number): ClaimResult {
  return { status: 'in_flight', retryAfterMs: minutes * MINUTE_MS }
}

/**
 * Whether an answer is the expected one, of the same types. Further fields are ignored.
 *
 * @param overMs how much longer than expected a lease may last
 */
export function meets(answer: unknown, expected: ExpectedAnswer, overMs: number = ROUNDING_MS): boolean {
  if (typeof expected !== 'object') return answer === (expected === 'unknown' ? undefined : expected)
  if (typeof answer !== 'object' || answer === null) return false
  const { status, attempt, retryAfterMs } = answer as Record<string, unknown>
  if (status !== expected.status) return false
  if (expected.status === 'claimed') return attempt === expected.attempt
  if (expected.status !== 'in_flight') return true
  const [least, most] = restOf(expected.retryAfterMs)
  return typeof retryAfterMs === 'number' && retryAfterMs > least && retryAfterMs <= most + overMs
}

/** The range of a lease's remaining time, since a case itself takes time. Never 0. */
function restOf(ms: number): [least: number, most: number] {
  return [Math.max(0, ms - MINUTE_MS), ms]
}

/** Describes an expected answer as `describeAnswer` describes an answer. */
export function describeExpected(expected: ExpectedAnswer): string {
  if (typeof expected !== 'object' || expected.status !== 'in_flight') return describeAnswer(expected)
  const [least, most] = restOf(expected.retryAfterMs)
  return `{"status":"in_flight","retryAfterMs":${most === 1 ? '1' : `${least} to ${most}`}}`
}

/** Describes an answer so that a wrong type shows. Many bytes are shown by their number. */
export function describeAnswer(answer: unknown): string {
  try {
    return JSON.stringify(answer, describeOdd) ?? 'undefined'
  } catch {
    return String(answer)
  }
}

/** Values that JSON lacks, or writes as another value, or that are long. */
function describeOdd(this: Readonly<Record<string, unknown>>, name: string, value: unknown): unknown {
  const given = this[name]
  if (isDate(given)) return `Date ${Number.isNaN(given.getTime()) ? 'invalid' : given.toISOString()}`
  if (isBytes(given)) return `${given.length} bytes`
  if (typeof value === 'string' && value.length > 300) return `${value.slice(0, 300)}…`
  const isOdd = ['bigint', 'function', 'symbol'].includes(typeof value)
  return isOdd || (typeof value === 'number' && !Number.isFinite(value))
    ? `${typeof value} ${String(value)}`
    : value
}

/** Also one of another realm, like the bytes. */
export function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}

export function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === '[object Uint8Array]'
}
