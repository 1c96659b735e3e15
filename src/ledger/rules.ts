import { describeType, describeValue } from '../lib/describe-type.js'
import { checkOptionNames, isRecord } from '../lib/option-names.js'
import type { EventFilter, EventPosition, EventQuery } from './ledger.js'

/** A query that was checked, in the form that a backend needs. */
export interface CheckedQuery {
  /** The conditions that are given. */
  readonly filter: CheckedFilter
  readonly order: 'newest' | 'oldest'
  /** The events wanted are below this position. A key that no event has stands for a date alone. */
  readonly before?: EventPosition
  /** The events wanted are above this position. */
  readonly after?: EventPosition
  readonly limit: number
  readonly bodies: boolean
}

export type CheckedFilter = Readonly<Partial<Record<keyof EventFilter, string>>>

const FILTERS = ['state', 'kind', 'account', 'namespace', 'group', 'eventId', 'orderId'] as const
const QUERY_NAMES = [...FILTERS, 'order', 'before', 'after', 'limit', 'bodies']
const FAILURE_STATES: readonly unknown[] = ['failing', 'parked']
const STATES: readonly unknown[] = [...FAILURE_STATES, 'handled', 'discarded']

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000
/** Each may have a megabyte. */
const MAX_BODIES = 20

/** Below and above each key, which is printable ASCII. */
const BELOW_KEYS = ''
const ABOVE_KEYS = '\x7f'

/**
 * Checks the query of `list`. Conditions that are undefined are left out.
 *
 * @throws TypeError that names the condition
 */
export function checkEventQuery(query: EventQuery = {}): CheckedQuery {
  const {
    order = 'newest',
    before,
    after,
    limit,
    bodies = false,
    ...filter
  } = checkOptionNames(query, QUERY_NAMES)
  if (order !== 'newest' && order !== 'oldest') {
    throw new TypeError(`order must be 'newest' or 'oldest', not ${describeValue(order)}.`)
  }
  if (typeof bodies !== 'boolean') {
    throw new TypeError(`bodies must be true or false, not ${describeValue(bodies)}.`)
  }
  return {
    filter: checkEventFilter(filter),
    order,
    ...(before === undefined ? {} : { before: positionOf('before', before, BELOW_KEYS) }),
    ...(after === undefined ? {} : { after: positionOf('after', after, ABOVE_KEYS) }),
    limit: bodies ? checkLimit(limit, MAX_BODIES, MAX_BODIES) : checkGroupLimit(limit),
    bodies,
  }
}

/**
 * Checks a filter of events.
 *
 * @param of what is filtered: `groups` are of failures alone
 * @throws TypeError that names the condition
 */
export function checkEventFilter(
  filter: EventFilter = {},
  of: 'events' | 'groups' = 'events',
): CheckedFilter {
  const given = checkOptionNames(filter, FILTERS)
  const checked: { -readonly [name in keyof CheckedFilter]: string } = {}
  for (const name of FILTERS) {
    const value: unknown = given[name]
    if (value === undefined) continue
    if (typeof value !== 'string')
      throw new TypeError(`${name} must be a string, not ${describeType(value)}.`)
    const states = of === 'groups' ? FAILURE_STATES : STATES
    if (name === 'state' && !states.includes(value)) {
      throw new TypeError(`state must be one of ${states.join(', ')}, not ${describeValue(value)}.`)
    }
    if (name === 'kind' && value.endsWith('.*')) {
      throw new TypeError(`kind must be one kind, such as 'event.published', not the group ${value}.`)
    }
    checked[name] = value
  }
  return checked
}

/** @throws TypeError when it is no whole number from 1 to 1,000 */
export function checkGroupLimit(limit: number | undefined): number {
  return checkLimit(limit, DEFAULT_LIMIT, MAX_LIMIT)
}

function checkLimit(limit: number | undefined, byDefault: number, most: number): number {
  if (limit === undefined) return byDefault
  if (!Number.isInteger(limit) || limit < 1 || limit > most) {
    throw new TypeError(`limit must be a whole number from 1 to ${most}, not ${describeValue(limit)}.`)
  }
  return limit
}

/** @throws TypeError when there is none */
export function checkReason(reason: unknown): string {
  if (typeof reason === 'string' && reason.trim() !== '') return reason
  throw new TypeError(`discard needs a reason, { reason: 'a test order' }, not ${describeValue(reason)}.`)
}

function positionOf(name: string, given: unknown, keyOfDate: string): EventPosition {
  if (isDate(given)) return { receivedAt: given, key: keyOfDate }
  if (isRecord(given) && isDate(given.receivedAt) && typeof given.key === 'string') {
    return { receivedAt: given.receivedAt, key: given.key }
  }
  throw new TypeError(
    `${name} must be a valid Date, or an event of the previous page, whose dates must be converted if they come from JSON: new Date(receivedAt); not ${isRecord(given) ? 'another object' : describeType(given)}.`,
  )
}

/** Whether it is a valid Date, also one of another realm. */
function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]' && !Number.isNaN(Number(value))
}
