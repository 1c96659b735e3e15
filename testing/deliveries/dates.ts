import { describeValue } from '../../src/internal.js'

/** The end of 9998, so that the shows some weeks after a moment are in years of four digits too. The start is 1970, the first `t`. */
const END_MS = Date.UTC(9999, 0)

/** ISO 8601 with a time zone: `2026-05-17T19:30:00+02:00`. */
const ISO_WITH_ZONE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** Whether a text is a date as the service writes it: ISO 8601 with an offset, and a day that exists. */
export function isIsoDate(value: string): boolean {
  if (!ISO_WITH_ZONE.test(value) || Number.isNaN(Date.parse(value))) return false
  // Some engines parse 30 February as 2 March.
  const day = value.slice(0, 'YYYY-MM-DD'.length)
  return isoUtc(Date.parse(day)).startsWith(day)
}

/** A date in the form of `created_at`: ISO 8601 in UTC, without milliseconds if they are 0. */
export function isoUtc(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

/**
 * Milliseconds since the epoch, of a date that a user gave.
 *
 * @param name of the option, for the message
 * @throws TypeError when it is not a date of the years 1970 to 9998, or has no time zone
 */
export function toEpochMs(name: string, date: Date | string | number): number {
  const ms = msOf(date)
  if (ms >= 0 && ms < END_MS) return ms
  const what = date instanceof Date ? describeDate(date) : describeValue(date)
  throw new TypeError(
    `${name} is not a date: it must be a Date, milliseconds since the epoch, or ISO 8601 with its time zone such as "2026-05-17T14:02:11Z", in the years 1970 to 9998; not ${what}.`,
  )
}

function msOf(date: unknown): number {
  if (date instanceof Date) return date.getTime()
  if (typeof date === 'number') return date
  return typeof date === 'string' && isIsoDate(date) ? Date.parse(date) : Number.NaN
}

function describeDate(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'an invalid Date' : `a Date of ${date.toISOString()}`
}
