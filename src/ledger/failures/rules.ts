import {
  DEFAULT_FAILURE_RETENTION_SECONDS,
  MAX_RETENTION_SECONDS,
  MIN_RETENTION_SECONDS,
} from '../../durations.js'
import { describeType, describeValue } from '../../lib/describe-type.js'
import { checkOptionNames, isRecord } from '../../lib/option-names.js'
import type { FailureFilter, FailureQuery } from './failures.js'

/** A query that was checked, in the form that a backend needs. */
export interface CheckedQuery {
  /** The conditions that are given. */
  readonly filter: CheckedFilter
  readonly order: 'newest' | 'oldest'
  /** The failures wanted are below this position. A key that no failure has stands for a date alone. */
  readonly before?: Position
  /** The failures wanted are above this position. */
  readonly after?: Position
  readonly limit: number
}

export type CheckedFilter = Readonly<Partial<Record<keyof FailureFilter, string>>>

/** Positions compare by their time, and then by their key, byte by byte. */
export interface Position {
  readonly atMs: number
  readonly key: string
}

const FILTERS = ['state', 'kind', 'account', 'namespace', 'group', 'eventId', 'orderId'] as const
const QUERY_NAMES = [...FILTERS, 'order', 'before', 'after', 'limit']

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000

/** Below and above each key, which is printable ASCII. */
const BELOW_KEYS = ''
const ABOVE_KEYS = '\x7f'

/**
 * Checks the query of `list`. Conditions that are undefined are left out.
 *
 * @throws TypeError that names the condition
 */
export function checkFailureQuery(query: FailureQuery = {}): CheckedQuery {
  const { order = 'newest', before, after, limit, ...filter } = checkOptionNames(query, QUERY_NAMES)
  if (order !== 'newest' && order !== 'oldest') {
    throw new TypeError(`order must be 'newest' or 'oldest', not ${describeValue(order)}.`)
  }
  return {
    filter: checkFailureFilter(filter),
    order,
    ...(before === undefined ? {} : { before: positionOf('before', before, BELOW_KEYS) }),
    ...(after === undefined ? {} : { after: positionOf('after', after, ABOVE_KEYS) }),
    limit: checkFailureLimit(limit),
  }
}

/**
 * Checks the filter of `count`.
 *
 * @throws TypeError that names the condition
 */
export function checkFailureFilter(filter: FailureFilter = {}): CheckedFilter {
  const given = checkOptionNames(filter, FILTERS)
  const checked: { -readonly [name in keyof CheckedFilter]: string } = {}
  for (const name of FILTERS) {
    const value: unknown = given[name]
    if (value === undefined) continue
    if (typeof value !== 'string')
      throw new TypeError(`${name} must be a string, not ${describeType(value)}.`)
    if (name === 'state' && value !== 'failing' && value !== 'parked') {
      throw new TypeError(`state must be 'failing' or 'parked', not ${describeValue(value)}.`)
    }
    if (name === 'kind' && value.endsWith('.*')) {
      throw new TypeError(`kind must be one kind, such as 'event.published', not the group ${value}.`)
    }
    checked[name] = value
  }
  return checked
}

/** @throws TypeError when it is no whole number from 1 to 1,000 */
export function checkFailureLimit(limit: number = DEFAULT_LIMIT): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new TypeError(`limit must be a whole number from 1 to ${MAX_LIMIT}, not ${describeValue(limit)}.`)
  }
  return limit
}

/**
 * Checks the option `retentionSeconds` of failures.
 *
 * @throws TypeError when it is shorter than the service retries, or longer than a hundred years
 */
export function checkFailureRetention(seconds: number = DEFAULT_FAILURE_RETENTION_SECONDS): number {
  if (typeof seconds !== 'number' || !(seconds >= MIN_RETENTION_SECONDS) || seconds > MAX_RETENTION_SECONDS) {
    throw new TypeError(
      `retentionSeconds must be a number of seconds from ${MIN_RETENTION_SECONDS} (73 h: the service retries for 72 h) to ${MAX_RETENTION_SECONDS}, not ${describeValue(seconds)}.`,
    )
  }
  return seconds
}

function positionOf(name: string, given: unknown, keyOfDate: string): Position {
  if (isDate(given)) return { atMs: given.getTime(), key: keyOfDate }
  if (isRecord(given) && isDate(given.lastAt) && typeof given.key === 'string') {
    return { atMs: given.lastAt.getTime(), key: given.key }
  }
  const what = isDateObject(given)
    ? 'an invalid Date'
    : isRecord(given)
      ? 'an object without a key and a lastAt that is a valid Date; dates from JSON must be converted: new Date(lastAt)'
      : describeType(given)
  throw new TypeError(`${name} must be a valid Date, or a failure of the previous page, not ${what}.`)
}

function isDate(value: unknown): value is Date {
  return isDateObject(value) && !Number.isNaN(value.getTime())
}

/** Whether it is a Date, also one of another realm. */
function isDateObject(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}
