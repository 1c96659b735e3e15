import fc from 'fast-check'
import type { Change } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { checkChanges } from '../../../stores/sql/change.js'

const atOf = (at: unknown): string | undefined => checkChanges({ subject: 's', at: at as Date })[0]?.at

describe('a date', () => {
  test.each([
    ['2026-11-22T10:00:00Z', '2026-11-22T10:00:00.000000000Z'],
    ['2026-11-22T10:00:00.25Z', '2026-11-22T10:00:00.250000000Z'],
    ['2026-11-22T10:00:00.123456789Z', '2026-11-22T10:00:00.123456789Z'],
    ['2026-11-22T10:00:00.1234567891Z', '2026-11-22T10:00:00.123456789Z'],
    ['2026-11-22T00:30:00+02:00', '2026-11-21T22:30:00.000000000Z'],
    ['2026-11-22T00:30:00.5-0530', '2026-11-22T06:00:00.500000000Z'],
    ['2026-11-22 10:00:00+00', '2026-11-22T10:00:00.000000000Z'],
    ['2026-11-22T10:00', '2026-11-22T10:00:00.000000000Z'],
    ['2026-11-22', '2026-11-22T00:00:00.000000000Z'],
    ['2028-02-29t10:00:00z', '2028-02-29T10:00:00.000000000Z'],
    ['0050-01-01T00:00:00Z', '0050-01-01T00:00:00.000000000Z'],
    [new Date('2026-11-22T10:00:00.007Z'), '2026-11-22T10:00:00.007000000Z'],
    [new Date(-1), '1969-12-31T23:59:59.999000000Z'],
  ])('is %s', (at, expected) => {
    expect(atOf(at)).toBe(expected)
  })

  test.each([
    '',
    '2026',
    '2026-02-30T00:00:00Z',
    '2026-11-22T25:00:00Z',
    '2026-11-22T10:00:00+24:00',
    '2026-11-22T10:00:00+01:60',
    '2026-11-22T10:00:00Z ',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    new Date(Number.NaN),
    new Date('+012026-11-22T10:00:00Z'),
    1763805600000,
    null,
    undefined,
    {},
  ])('is not %s', (at) => {
    expect(() => atOf(at)).toThrow(TypeError)
    expect(() => atOf(at)).toThrow(/^at must be a Date or an ISO 8601 string/)
  })

  test('compares as text as it does in time, whatever its zone', () => {
    const ms = fc.integer({ min: -62_000_000_000_000, max: 253_000_000_000_000 })
    const moment = fc.record({ ms, offset: fc.integer({ min: -14 * 60, max: 14 * 60 }) })
    fc.assert(
      fc.property(moment, moment, (a, b) => {
        const [first, second] = [a, b].map(({ ms, offset }) => {
          const local = new Date(ms + offset * 60_000).toISOString().slice(0, -1)
          const two = (n: number): string => String(Math.abs(n)).padStart(2, '0')
          return atOf(
            `${local}${offset < 0 ? '-' : '+'}${two(Math.trunc(offset / 60))}:${two(offset % 60)}`,
          ) as string
        }) as [string, string]
        expect(first).toBe(atOf(new Date(a.ms)))
        expect(first < second).toBe(a.ms < b.ms)
      }),
    )
  })
})

const valid: Change = { subject: 's', at: '2026-11-22T10:00:00Z' }

test.each([
  ['an empty subject', { subject: '' }, /^subject must be 1 to 255 characters long/],
  ['a subject that is a number', { subject: 7 }, /^subject must be a string that names what changed/],
  ['a subject with NUL', { subject: 'a\0b' }, /^subject must be text that can be stored/],
  ['a subject with half a character', { subject: 'a\ud83c' }, /^subject must be text that can be stored/],
  ['a rank beyond 2^53', { rank: 2 ** 53 }, /^rank must be a whole number/],
  ['a rank that is text', { rank: '1' }, /^rank must be a whole number, not "1"/],
  ['a misspelt rank', { rang: 1 }, /^There is no option rang/],
])('%s is refused', (_, parts, message) => {
  const change = { ...valid, ...parts } as unknown as Change
  for (const given of [change, [valid, change]]) {
    expect(() => checkChanges(given)).toThrow(TypeError)
    expect(() => checkChanges(given)).toThrow(message)
  }
})

test('a subject may be any other text, and a rank below 0', () => {
  const subject = 'Größe 🎟'
  expect(checkChanges({ ...valid, subject, rank: -3 })).toMatchObject([{ subject, rank: -3 }])
})

test('a list is sorted by subject, is not changed itself, and names none twice', () => {
  const list = ['b', 'a', 'c'].map((subject) => ({ ...valid, subject }))
  expect(checkChanges(list).map(({ subject }) => subject)).toEqual(['a', 'b', 'c'])
  expect(list.map(({ subject }) => subject)).toEqual(['b', 'a', 'c'])
  expect(checkChanges([])).toEqual([])
  expect(() => checkChanges([valid, { ...valid, rank: 1 }])).toThrow(/^A subject is in the list twice/)
})

test.each([null, undefined, 'evt_1', 7])(
  'a change that is %o is refused as a change, not as options',
  (given) => {
    const message = /^A change must be an object, such as \{ subject: .* not /
    expect(() => checkChanges(given as never)).toThrow(message)
    expect(() => checkChanges([given] as never)).toThrow(message)
  },
)
