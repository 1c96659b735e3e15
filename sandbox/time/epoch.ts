import { isCalendarDay } from './calendar.js'

/** The end of 9998, so that the shows some weeks after a moment are in years of four digits too. */
const END_MS = Date.UTC(9999, 0)

/** ISO 8601 with a time zone: `2026-05-17T19:30:00+02:00`. */
const ISO_WITH_ZONE = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/**
 * Milliseconds since the epoch, of a date that a user gave.
 *
 * @param name of the option, for the message
 * @throws TypeError when it is not a date of the years 1970 to 9998, or has no time zone
 */
export function toEpochMs(name: string, date: Date | string | number): number {
  const ms = msOf(date)
  if (ms >= 0 && ms < END_MS) return ms
  throw new TypeError(
    `${name} is not a date: it must be a Date, milliseconds since the epoch, or ISO 8601 with its time zone such as "2026-05-17T14:02:11Z", in the years 1970 to 9998; not ${described(date)}.`,
  )
}

function msOf(date: unknown): number {
  if (date instanceof Date) return date.getTime()
  if (typeof date === 'number') return date
  const day = typeof date === 'string' ? ISO_WITH_ZONE.exec(date)?.[1] : undefined
  return day !== undefined && isCalendarDay(day) ? Date.parse(date as string) : Number.NaN
}

function described(date: unknown): string {
  if (date instanceof Date) return Number.isNaN(date.getTime()) ? 'an invalid Date' : date.toISOString()
  return typeof date === 'string'
    ? JSON.stringify(date)
    : typeof date === 'number'
      ? String(date)
      : typeof date
}
