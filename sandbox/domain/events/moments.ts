import { isCalendarDay } from '../../time/calendar.js'

/** A moment as it was given, and when that is. */
export interface Moment {
  /** The text as it was sent, so that its offset is kept. */
  readonly text: string
  readonly ms: number
}

/** Whether a time zone is required: for a show it is; other moments default to UTC; for a filter a day is enough. */
export type MomentForm = 'with offset' | 'offset optional' | 'day or moment'

const FIRST_YEAR = 1970
const LAST_YEAR = 9998
const MINUTE_MS = 60_000

const DAY = String.raw`(\d{4})-(\d\d)-(\d\d)`
const TIME = String.raw`T(\d\d):(\d\d)(?::(\d\d)(\.\d{1,9})?)?`
const OFFSET = String.raw`(Z|([+-])(\d\d):(\d\d))`

const READERS = Object.fromEntries(
  Object.entries(patterns(DAY, TIME, OFFSET)).map(([form, pattern]) => [form, new RegExp(pattern)]),
) as Record<MomentForm, RegExp>

// The years that are read, with the days that each month has, and the 29th of February of leap years.
const YEAR = String.raw`(?:19[7-9]\d|[2-8]\d{3}|9[0-8]\d\d|99[0-8]\d|999[0-8])`
const MONTH_DAY = String.raw`(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))`
const LEAP_YEAR = String.raw`(?:19(?:7[26]|8[048]|9[26])|[2-9]\d(?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[3579][26])00)`

/** The moments that `readMoment` takes, as patterns of JSON Schema: it explains what is wrong with any other one. */
export const MOMENT_PATTERNS: Readonly<Record<MomentForm, string>> = patterns(
  `(?:${YEAR}-${MONTH_DAY}|${LEAP_YEAR}-02-29)`,
  String.raw`T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?`,
  String.raw`(?:Z|\+(?:0\d|1[0-3]):[0-5]\d|\+14:00|-(?:0[1-9]|1[01]):[0-5]\d|-00:(?:0[1-9]|[1-5]\d)|-12:00)`,
)

function patterns(day: string, time: string, offset: string): Record<MomentForm, string> {
  return {
    'with offset': `^${day}${time}${offset}$`,
    'offset optional': `^${day}${time}${offset}?$`,
    'day or moment': `^${day}(?:${time}${offset}?)?$`,
  }
}

const EXAMPLES: Readonly<Record<MomentForm, string>> = {
  'with offset': 'such as 2026-12-01T19:00:00+01:00',
  'offset optional': 'such as 2026-12-01T19:00:00+01:00 (without an offset it is UTC)',
  'day or moment':
    'such as 2026-12-01T19:00:00+01:00, or a day such as 2026-12-01 (without an offset it is UTC)',
}

/** Reads ISO 8601: a valid moment of the years 1970 to 9998, or the end of a sentence about the error. */
export function readMoment(text: string, form: MomentForm): Moment | string {
  const parts = READERS[form].exec(text)
  if (parts === null) return complaint(text, form)
  const [, year, month, day, hours = 0, minutes = 0, seconds = 0, fraction = '', zone, sign, ahead, aside] =
    parts
  if (Number(year) < FIRST_YEAR || Number(year) > LAST_YEAR) {
    return `must be in the years ${FIRST_YEAR} to ${LAST_YEAR}`
  }
  if (Number(hours) === 24) return 'has the hour 24: write 00:00 of the day after'
  if (Number(seconds) === 60) return 'has a leap second: write :59'
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) {
    return 'has a time of day that there is not: hours end at 23, minutes and seconds at 59'
  }
  if (zone !== undefined && zone !== 'Z') {
    const fault = offsetFault(zone, Number(ahead), Number(aside))
    if (fault !== undefined) return fault
  }
  if (!isCalendarDay(`${year}-${month}-${day}`)) {
    return 'has a day that there is not: look it up in a calendar'
  }
  const dayMs = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const offsetMinutes = (sign === '-' ? -1 : 1) * (Number(ahead ?? 0) * 60 + Number(aside ?? 0))
  const minutesOfDay = Number(hours) * 60 + Number(minutes) - offsetMinutes
  const secondsMs = Number(seconds) * 1000 + Math.floor(Number(fraction) * 1000)
  return { text, ms: dayMs + minutesOfDay * MINUTE_MS + secondsMs }
}

/**
 * Another moment, in the same offset: the default of `ends_at` has the UTC offset of `doors_at`.
 * It is undefined beyond the years that can be written.
 */
export function shiftMoment({ text, ms }: Moment, byMs: number): Moment | undefined {
  const zone = /(?:Z|[+-]\d\d:\d\d)$/.exec(text)?.[0] ?? 'Z'
  const [hours = 0, minutes = 0] = zone === 'Z' ? [] : zone.slice(1).split(':').map(Number)
  const offsetMs = (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS
  const local = new Date(ms + byMs + offsetMs)
  if (Number.isNaN(local.getTime())) return undefined
  const hasSeconds = /T\d\d:\d\d:/.test(text) || (ms + byMs) % MINUTE_MS !== 0
  const written = local.toISOString().replace(/\.000Z$|Z$/, '')
  const shifted = readMoment((hasSeconds ? written : written.slice(0, -3)) + zone, 'with offset')
  return typeof shifted === 'string' ? undefined : shifted
}

/** A moment of virtual time as `created_at` has it: ISO 8601 in UTC. */
export function utcText(ms: number): string {
  return new Date(ms).toISOString()
}

function offsetFault(zone: string, hours: number, minutes: number): string | undefined {
  if (zone === '-00:00') return 'has the offset -00:00, which is of no time zone: write Z or +00:00'
  const mostMinutes = zone.startsWith('-') ? 12 * 60 : 14 * 60
  if (minutes <= 59 && hours * 60 + minutes <= mostMinutes) return undefined
  return `has the offset ${zone}, which is of no time zone: they are -12:00 to +14:00`
}

/** Why a text is not in its form: the usual mistakes by their names. */
function complaint(text: string, form: MomentForm): string {
  const example = EXAMPLES[form]
  if (/\d \d\d:?\d\d$/.test(text) && /T\d/.test(text)) {
    return 'has a space where its offset has a sign: in a query + means a space, so write %2B'
  }
  if (/^\d{4}-\d\d-\d\d[tT]\d\d:\d\d.*[tz]|^\d{4}-\d\d-\d\dt/.test(text)) {
    return 'has a small letter: write T and Z as capitals'
  }
  if (/^[+-]\d/.test(text))
    return `must have a year of four digits, in the years ${FIRST_YEAR} to ${LAST_YEAR}`
  if (form !== 'day or moment' && new RegExp(`^${DAY}$`).test(text)) {
    return `is a day without a time: it must be ISO 8601, ${example}`
  }
  if (form === 'with offset' && new RegExp(`^${DAY}${TIME}$`).test(text)) {
    return `lacks its timezone offset: add Z or the venue's own, ${example}`
  }
  return `must be ISO 8601, ${example}`
}
