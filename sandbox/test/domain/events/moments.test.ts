import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { MOMENT_PATTERNS, type MomentForm, readMoment, shiftMoment } from '../../../domain/events/moments.js'
import { HOUR_MS } from '../../support/ticketing.js'

const DAY = '2026-12-01'
const two = (value: number): string => String(value).padStart(2, '0')

test.each([
  ['lacks its timezone offset', `${DAY}T19:00:00`, `${DAY}T19:00`],
  ['a day without a time', DAY],
  ['write %2B', `${DAY}T19:00:00 01:00`],
  ['capitals', `${DAY}t19:00:00Z`, `${DAY}T19:00:00z`],
  [
    'a day that there is not',
    ...'02-30 04-31 00-01 13-01 12-00'.split(' ').map((day) => `2026-${day}T19:00:00Z`),
    '2027-02-29T19:00:00Z',
    '2100-02-29T19:00:00Z',
  ],
  ['the hour 24', `${DAY}T24:00:00Z`],
  ['a time of day that there is not', `${DAY}T25:00:00Z`, `${DAY}T19:60:00Z`, `${DAY}T19:00:61Z`],
  ['a leap second', '2026-12-31T23:59:60Z'],
  ['of no time zone', ...'+14:01 +99:00 -12:01 +01:60'.split(' ').map((zone) => `${DAY}T19:00:00${zone}`)],
  ['write Z or +00:00', `${DAY}T19:00:00-00:00`],
  [
    'the years 1970 to 9998',
    '1969-12-31T23:59:59Z',
    ...'0000 9999 +010000 -000001'.split(' ').map((year) => `${year}-01-01T00:00:00Z`),
  ],
  [
    'must be ISO 8601',
    ...'+0100 +01 ,5Z .Z .1234567890Z Z\n'.split(' ').map((end) => `${DAY}T19:00:00${end}`),
    ...[` ${DAY}T19:00:00Z`, `${DAY} 19:00:00+01:00`, '2026-W49-2T19:00:00Z', '２０２６-12-01T19:00:00Z'],
    ...['1796150400', 'tomorrow', ''],
  ],
])('[S60] [N34] the refusal of a date says "%s": %j', (complaint, ...texts) => {
  for (const text of texts) expect(readMoment(text, 'with offset'), text).toContain(complaint)
})

test.each<[MomentForm, string, string]>([
  ['offset optional', '2026-12-01T19:00:00', '2026-12-01T19:00:00.000Z'],
  ['day or moment', '2026-12-01', '2026-12-01T00:00:00.000Z'],
  ['day or moment', '2026-12-01T19:00:00-02:00', '2026-12-01T21:00:00.000Z'],
])('[N52] [N63] %s: %s is read as UTC without an offset', (form, text, utc) => {
  expect(readMoment(text, form)).toEqual({ text, ms: Date.parse(utc) })
})

test('the pattern of a form matches exactly the texts that are read', () => {
  const YEARS = [1900, 1969, 1970, 1972, 2000, 2023, 2024, 2100, 2400, 9900, 9989, 9996, 9998, 9999]
  const texts = [
    ...YEARS.flatMap((year) =>
      Array.from(
        { length: 14 * 33 },
        (_, at) => `${year}-${two(Math.floor(at / 33))}-${two(at % 33)}T19:00Z`,
      ),
    ),
    ...Array.from({ length: 26 * 62 }, (_, at) => `${two(Math.floor(at / 62))}:${two(at % 62)}`).flatMap(
      (time) => [
        `2026-12-01T${time}`,
        `2026-12-01T12:${time}.5Z`,
        `2026-12-01T12:00+${time}`,
        `2026-12-01T12:00-${time}`,
      ],
    ),
    ...['2026-12-01', '2026-12-01T12:00:00.', '2026-12-01T12:00:00.1234567890', 'x2026-12-01T12:00Z'],
  ]
  for (const [form, pattern] of Object.entries(MOMENT_PATTERNS)) {
    const fits = new RegExp(pattern, 'u')
    const isRead = (text: string) => typeof readMoment(text, form as MomentForm) === 'object'
    expect(texts.filter((text) => fits.test(text) !== isRead(text))).toEqual([])
  }
})

test('a text of any length is refused', () => {
  // A pattern that backtracks over these would run into the time limit of the test.
  for (const text of [
    '2'.repeat(1e6),
    `2026-12-01T19:00${' '.repeat(1e6)}`,
    `2026-12-01t00:00${'t'.repeat(1e6)}x`,
  ]) {
    for (const form of Object.keys(MOMENT_PATTERNS)) {
      expect(typeof readMoment(text, form as MomentForm)).toBe('string')
    }
  }
})

/** Moments in every form that is accepted. */
const moments = fc
  .record({
    at: fc.date({ min: new Date('1971-01-01'), max: new Date('9997-01-01'), noInvalidDate: true }),
    offset: fc.integer({ min: -12 * 60, max: 14 * 60 }),
    // To the minute, the second or the millisecond.
    length: fc.constantFrom(16, 19, 23),
  })
  .map(({ at, offset, length }) => {
    const local = new Date(at.getTime() + offset * 60_000).toISOString().slice(0, length)
    const zone = `${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
    return offset === 0 ? `${local}Z` : `${local}${offset < 0 ? '-' : '+'}${zone}`
  })

test('[N34] [N35] [S61] every moment is read as the platform reads it, and 4 hours later keeps its offset and its seconds', () => {
  fc.assert(
    fc.property(moments, (text) => {
      const moment = readMoment(text, 'with offset')
      expect(moment).toEqual({ text, ms: Date.parse(text) })
      if (typeof moment === 'string') throw new Error(moment)
      const shifted = shiftMoment(moment, 4 * HOUR_MS)
      const zone = /(Z|[+-]\d\d:\d\d)$/
      expect(Date.parse(shifted?.text ?? '')).toBe(Date.parse(text) + 4 * HOUR_MS)
      expect(shifted?.ms).toBe(Date.parse(text) + 4 * HOUR_MS)
      expect(zone.exec(shifted?.text ?? '')?.[0]).toBe(zone.exec(text)?.[0])
      expect(/T\d\d:\d\d:/.test(shifted?.text ?? '')).toBe(/T\d\d:\d\d:/.test(text))
    }),
    { numRuns: runs(300) },
  )
})
