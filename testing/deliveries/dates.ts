import { describeValue } from '../../src/lib/describe-type.js'

/** From 1970 on, so that a `t` can say it; and the shows of the weeks after it are in years of four digits too. */
const END_MS = Date.UTC(9999, 0)

/** ISO 8601 with a time zone: `2026-05-17T19:30:00+02:00`. */
const ISO_WITH_ZONE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** Whether it is a date as the service writes it: ISO 8601 with the offset of its time zone, and one that there is. */
export function isIsoDate(value: string): boolean {
  if (!ISO_WITH_ZONE.test(value) || Number.isNaN(Date.parse(value))) return false
  // Some engines read 30 February as 2 March.
  const day = value.slice(0, 'YYYY-MM-DD'.length)
  return isoUtc(Date.parse(day)).startsWith(day)
}

/** A moment as `created_at` has it: ISO 8601 in UTC, to the second where it is a whole one. */
export function isoUtc(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

/**
 * What a user gives as a moment, in milliseconds since the epoch.
 *
 * @param name what it was given as, for the message
 * @throws TypeError when it is no date of the years 1970 to 9998, or lacks its time zone
 */
export function toEpochMs(name: string, moment: Date | string | number): number {
  const ms = msOf(moment)
  if (ms >= 0 && ms < END_MS) return ms
  const what = moment instanceof Date ? describeDate(moment) : describeValue(moment)
  throw new TypeError(
    `${name} is not a date: it must be a Date, milliseconds since the epoch, or ISO 8601 with its time zone such as "2026-05-17T14:02:11Z", in the years 1970 to 9998; not ${what}.`,
  )
}

function msOf(moment: unknown): number {
  if (moment instanceof Date) return moment.getTime()
  if (typeof moment === 'number') return moment
  return typeof moment === 'string' && isIsoDate(moment) ? Date.parse(moment) : Number.NaN
}

function describeDate(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'an invalid Date' : `a Date of ${date.toISOString()}`
}
