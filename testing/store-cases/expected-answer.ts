import type { ClaimResult } from '../../src/index.js'

/** What a store call must answer. An `in-flight` stands for a range: time passes while a case runs. */
export type Expected = ClaimResult | boolean

export const MINUTE_MS = 60_000

/** What a clock that is kept in fractions may round up. */
const ROUNDING_MS = 1

export function claimed(attempt: number): ClaimResult {
  return { status: 'claimed', attempt }
}

export const completed: ClaimResult = { status: 'completed' }

/** Held by another token, whose lease lasts so many minutes longer. */
export function inFlight(minutes: number): ClaimResult {
  return { status: 'in-flight', retryAfterMs: minutes * MINUTE_MS }
}

/** What a claim gets that was sent before the release of its own token, and arrives after it. */
export const released: ClaimResult = { status: 'in-flight', retryAfterMs: 1 }

/**
 * Whether an answer is what was expected: the very types, and whatever fields there are beside.
 *
 * @param overMs how much longer than expected a lease may be said to last
 */
export function meets(answer: unknown, expected: Expected, overMs: number = ROUNDING_MS): boolean {
  if (typeof expected === 'boolean') return answer === expected
  if (typeof answer !== 'object' || answer === null) return false
  const { status, attempt, retryAfterMs } = answer as Record<string, unknown>
  if (status !== expected.status) return false
  if (expected.status === 'claimed') return attempt === expected.attempt
  if (expected.status === 'completed') return true
  const [least, most] = restOf(expected.retryAfterMs)
  return typeof retryAfterMs === 'number' && retryAfterMs > least && retryAfterMs <= most + overMs
}

/** What is left of a lease when some of the case's own time has passed: never nothing. */
function restOf(ms: number): [least: number, most: number] {
  return [Math.max(0, ms - MINUTE_MS), ms]
}

/** Says an expectation as it is said of an answer. */
export function describeExpected(expected: Expected): string {
  if (typeof expected === 'boolean' || expected.status !== 'in-flight') return describeAnswer(expected)
  const [least, most] = restOf(expected.retryAfterMs)
  return `{"status":"in-flight","retryAfterMs":${most === 1 ? '1' : `${least} to ${most}`}}`
}

/** Says what a store answered, so that a wrong type shows. */
export function describeAnswer(answer: unknown): string {
  try {
    return JSON.stringify(answer, tellOdd) ?? 'undefined'
  } catch {
    return String(answer)
  }
}

/** JSON has no word for some values, or the word of another value. */
function tellOdd(_: string, value: unknown): unknown {
  const isOdd = ['bigint', 'function', 'symbol'].includes(typeof value) || isOddNumber(value)
  return isOdd ? `${typeof value} ${String(value)}` : value
}

function isOddNumber(value: unknown): boolean {
  return typeof value === 'number' && !Number.isFinite(value)
}
