import type { ClaimResult } from '../../src/index.js'

/** The expected answer to a call. The time of an `in_flight` stands for a range, because time passes while a case runs. */
export type ExpectedAnswer = ClaimResult | boolean

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

/** The answer to a claim that arrives after the release of its own token. */
export const released: ClaimResult = { status: 'in_flight', retryAfterMs: 1 }

/**
 * Whether an answer is the expected one, of the same types. Further fields are ignored.
 *
 * @param overMs how much longer than expected a lease may last
 */
export function meets(answer: unknown, expected: ExpectedAnswer, overMs: number = ROUNDING_MS): boolean {
  if (typeof expected === 'boolean') return answer === expected
  if (typeof answer !== 'object' || answer === null) return false
  const { status, attempt, retryAfterMs } = answer as Record<string, unknown>
  if (status !== expected.status) return false
  if (expected.status === 'claimed') return attempt === expected.attempt
  if (expected.status === 'completed') return true
  const [least, most] = restOf(expected.retryAfterMs)
  return typeof retryAfterMs === 'number' && retryAfterMs > least && retryAfterMs <= most + overMs
}

/** The range of a lease's remaining time, since a case itself takes time. Never 0. */
function restOf(ms: number): [least: number, most: number] {
  return [Math.max(0, ms - MINUTE_MS), ms]
}

/** Describes an expected answer as `describeAnswer` describes an answer. */
export function describeExpected(expected: ExpectedAnswer): string {
  if (typeof expected === 'boolean' || expected.status !== 'in_flight') return describeAnswer(expected)
  const [least, most] = restOf(expected.retryAfterMs)
  return `{"status":"in_flight","retryAfterMs":${most === 1 ? '1' : `${least} to ${most}`}}`
}

/** Describes an answer so that a wrong type shows. */
export function describeAnswer(answer: unknown): string {
  try {
    return JSON.stringify(answer, describeOdd) ?? 'undefined'
  } catch {
    return String(answer)
  }
}

/** Values that JSON lacks, or writes as another value. */
function describeOdd(_: string, value: unknown): unknown {
  const isOdd = ['bigint', 'function', 'symbol'].includes(typeof value) || isOddNumber(value)
  return isOdd ? `${typeof value} ${String(value)}` : value
}

function isOddNumber(value: unknown): boolean {
  return typeof value === 'number' && !Number.isFinite(value)
}
