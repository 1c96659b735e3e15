import type { Change } from '../../src/index.js'
import { checkOptionNames, describeType, describeValue, storableText } from '../../src/internal.js'

/** A change that was checked. */
export interface CheckedChange {
  readonly subject: string
  /** In UTC with nine decimals, so that strings compare as their dates do. */
  readonly at: string
  readonly rank: number
}

const MAX_SUBJECT_LENGTH = 255

/**
 * Checks the changes that are given to `recordIfNewest`, one or a list, and sorts them by subject: transactions that lock several subjects in the
 * same order cannot deadlock.
 *
 * @throws TypeError when a date is no date, a subject is empty or in the list twice, or a rank is no whole number
 */
export function checkChanges(given: Change | readonly Change[]): readonly CheckedChange[] {
  if (!isList(given)) return [checkChange(given)]
  const checked = given.map(checkChange)
  if (new Set(checked.map(({ subject }) => subject)).size < checked.length) {
    throw new TypeError('A subject is in the list twice: give each one once, with its newest date.')
  }
  return checked.sort((a, b) => (a.subject < b.subject ? -1 : 1))
}

// The type of Array.isArray does not know lists that are read-only.
function isList(given: Change | readonly Change[]): given is readonly Change[] {
  return Array.isArray(given)
}

function checkChange(change: Change): CheckedChange {
  if (typeof change !== 'object' || change === null) {
    throw new TypeError(
      `A change must be an object, such as { subject: event.data.event.id, at: event.created_at }, not ${describeType(change)}.`,
    )
  }
  const { subject, at, rank = 0 } = checkOptionNames(change, ['subject', 'at', 'rank'])
  checkSubject(subject)
  if (!Number.isSafeInteger(rank)) {
    throw new TypeError(`rank must be a whole number, not ${describeValue(rank)}.`)
  }
  return { subject, at: sortableDate(at), rank }
}

function checkSubject(subject: string): void {
  if (typeof subject !== 'string') {
    throw new TypeError(
      `subject must be a string that names what changed, such as event.data.event.id, not ${describeType(subject)}.`,
    )
  }
  if (subject.length === 0 || subject.length > MAX_SUBJECT_LENGTH) {
    throw new TypeError(
      `subject must be 1 to ${MAX_SUBJECT_LENGTH} characters long, and this one has ${subject.length}.`,
    )
  }
  // Postgres refuses the first, and clients replace the others, which would make one subject of two.
  if (storableText(subject) !== subject) {
    throw new TypeError('subject must be text that can be stored, without NUL and halves of surrogate pairs.')
  }
}

const ISO_DATE =
  /^(?<day>\d{4}-\d\d-\d\d)(?:[T ](?<minute>\d\d:\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?(?<zone>Z|(?<sign>[+-])(?<hours>\d\d)(?::?(?<minutes>\d\d))?)?)?$/i

/** Not by `Date.parse` alone: it reads many texts that are no date, takes 30 February for 2 March, and drops what is below a millisecond. */
function sortableDate(at: Date | string): string {
  if (Object.prototype.toString.call(at) === '[object Date]') {
    const ms = (at as Date).getTime()
    return sortable(ms, String(((ms % 1000) + 1000) % 1000).padStart(3, '0'))
  }
  const parts = typeof at === 'string' ? ISO_DATE.exec(at)?.groups : undefined
  if (parts === undefined) throw noDate(at)
  const { day, minute = '00:00', second = '00', fraction = '', sign, hours = '0', minutes = '0' } = parts
  const local = Date.parse(`${day}T${minute}:${second}Z`)
  const isRealDay = new Date(Date.parse(`${day}T00:00Z`)).getUTCDate() === Number(day?.slice(-2))
  if (!isRealDay || Number(hours) > 23 || Number(minutes) > 59) throw noDate(at)
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000
  return sortable(sign === '-' ? local + offsetMs : local - offsetMs, fraction)
}

function sortable(ms: number, fraction: string): string {
  const text = Number.isNaN(ms) ? '' : new Date(ms).toISOString()
  // A year before 0 or after 9999 has a sign, and does not compare as text.
  if (!/^\d/.test(text)) throw noDate(text)
  return `${text.slice(0, 19)}.${fraction.slice(0, 9).padEnd(9, '0')}Z`
}

function noDate(at: unknown): TypeError {
  const found =
    typeof at === 'string' || at instanceof Date ? 'another text or an invalid Date' : describeType(at)
  return new TypeError(
    `at must be a Date or an ISO 8601 string such as 2026-11-22T10:00:00Z, of a year from 0 to 9999, not ${found}.`,
  )
}
