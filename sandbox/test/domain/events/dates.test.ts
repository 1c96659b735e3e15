import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RefusalCode } from '../../../domain/refusal.js'
import { apiRefusalOf, HOUR_MS, ticketing } from '../../support/ticketing.js'

test('[S43] [S44] [S55] [N77] [N95] a reschedule changes the dates, keeps the length, and is sent with the previous dates', async () => {
  const { account, clock, publish, emitted } = ticketing()
  const { id } = publish({ ends_at: '2026-07-01T20:30:00+01:00' })
  const before = account.retrieveEvent(id)
  await clock.advanceBy(1000)
  emitted.length = 0
  const after = account.rescheduleEvent(id, { doors_at: '2026-08-01T22:00-04:00' })
  expect(after).toEqual({
    ...before,
    doors_at: '2026-08-01T22:00-04:00',
    ends_at: '2026-08-01T23:30-04:00',
    updated_at: '2026-06-01T10:00:01.000Z',
  })
  expect(account.retrieveEvent(id)).toEqual(after)
  const previous_attributes = { doors_at: before.doors_at, ends_at: before.ends_at }
  expect(emitted).toEqual([{ kind: 'event.rescheduled', data: { event: after, previous_attributes } }])
})

test('[N77] the length is kept in the offset of the new doors, whatever these are', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5000 }),
      fc.integer({ min: 1, max: 200_000 }),
      fc.constantFrom('Z', '+05:45', '-03:00'),
      (minutes, ahead, zone) => {
        const { account, create } = ticketing()
        const at = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16)}${zone}`
        const doorsMs = Date.parse('2026-07-01T18:00Z')
        const { id } = create({ ends_at: new Date(doorsMs + minutes * 60_000).toISOString() })
        const { doors_at, ends_at } = account.rescheduleEvent(id, {
          doors_at: at(doorsMs + 12 * HOUR_MS + ahead * 60_000),
        })
        expect(Date.parse(ends_at) - Date.parse(doors_at)).toBe(minutes * 60_000)
        expect(ends_at.endsWith(zone)).toBe(true)
      },
    ),
  )
})

const LATER = '2026-08-01T22:00Z'
const SAME = '2026-07-01T18:00Z'

test.each<[string, unknown, RefusalCode, string | undefined]>([
  ['[N77] without doors', {}, 'parameter_missing', 'doors_at'],
  ['[N10] without a body', undefined, 'parameter_invalid', undefined],
  ['[N78] to the same doors', { doors_at: '2026-07-01T19:00:00+01:00' }, 'doors_at_unchanged', 'doors_at'],
  ['[N78] of the end alone', { doors_at: SAME, ends_at: LATER }, 'doors_at_unchanged', 'doors_at'],
  ['[N79] to the present', { doors_at: '2026-06-01T12:00+02:00' }, 'doors_at_in_past', 'doors_at'],
  ['[N35] to an early end', { doors_at: LATER, ends_at: SAME }, 'ends_at_before_doors_at', 'ends_at'],
  ['too late for an end', { doors_at: '9998-12-31T23:00Z' }, 'parameter_invalid', 'doors_at'],
  ['with another field', { doors_at: LATER, title: 'x' }, 'parameter_unknown', 'title'],
])('[N93] a reschedule is refused, and nothing changes, %s', (_, given, code, param) => {
  const { account, publish, emitted } = ticketing()
  const { id } = publish()
  emitted.length = 0
  const before = account.snapshot()
  expect(apiRefusalOf(() => account.rescheduleEvent(id, given))).toEqual([code, param])
  expect(account.snapshot()).toEqual(before)
  expect(emitted).toEqual([])
})

test('[N79] the next millisecond lies ahead', () => {
  const { account, create } = ticketing()
  const doors_at = '2026-06-01T10:00:00.001Z'
  expect(account.rescheduleEvent(create().id, { doors_at }).doors_at).toBe(doors_at)
})
