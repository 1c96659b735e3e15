import { describe, expect, test } from 'vitest'
import { Collection } from '../../domain/collection.js'
import type { RefusalCode } from '../../domain/refusal.js'
import { apiRefusalOf, thrownRefusal, ticketing } from '../support/ticketing.js'

describe('the list of events', () => {
  test('[S74] has 25 events by default, and 1 to 100 by its limit', () => {
    const { account, create } = ticketing()
    const newest = Array.from({ length: 101 }, () => create().id).reverse()
    const list = (query?: Record<string, unknown>) => {
      const { data, hasMore } = account.listEvents(query)
      return [data.map(({ id }) => id), hasMore]
    }
    expect(list()).toEqual([newest.slice(0, 25), true])
    expect(list({ limit: '1' })).toEqual([newest.slice(0, 1), true])
    expect(list({ limit: '100' })).toEqual([newest.slice(0, 100), true])
    expect(list({ limit: 100, starting_after: newest[0] })).toEqual([newest.slice(1), false])
  })

  test.each<[Record<string, string>, number[]]>([
    [{ starts_after: '2026-07-02T19:00:00+01:00' }, [3, 2]],
    [{ starts_after: '2026-07-02T18:00:00Z' }, [3, 2]],
    [{ starts_after: '2026-07-02T18:00:00' }, [3, 2]],
    [{ starts_after: '2026-07-02T18:00:00.001Z' }, [3]],
    [{ starts_before: '2026-07-02T18:00:00Z' }, [1]],
    [{ starts_before: '2026-07-02T18:00:00.001Z' }, [2, 1]],
    [{ starts_after: '2026-07-02', starts_before: '2026-07-03' }, [2]],
    [{ starts_after: '2026-07-02', starts_before: '2026-07-02' }, []],
    [{ starts_after: '2020-01-01', starts_before: '2030-01-01' }, [3, 2, 1]],
    [{ starts_after: '2030-01-01' }, []],
  ])('[S72] [S73] [N63] filtered by %j has the events of the days %j', (query, days) => {
    const { account, create } = ticketing()
    for (const day of [1, 2, 3]) create({ title: String(day), doors_at: `2026-07-0${day}T19:00:00+01:00` })
    expect(account.listEvents(query).data.map(({ title }) => Number(title))).toEqual(days)
  })
})

describe('the list of events refuses', () => {
  const { account, create, venueId } = ticketing()
  const { id } = create()
  const [early, late] = ['2026-07-01', '2026-07-02']

  test.each<[string, string, RefusalCode, unknown[]]>([
    ['[S74] a limit that is not from 1 to 100', 'limit', 'parameter_invalid', ['0', '101', '-1']],
    [
      '[N58] a limit that is not a plain number',
      'limit',
      'parameter_invalid',
      ['x', '1.5', '1e1', '0x10', '010', ' 5', '', '9'.repeat(400)],
    ],
    ['[S70] an unknown status', 'status', 'parameter_invalid', ['open', '']],
    ['[N62] a parameter given twice', 'limit', 'parameter_invalid', [['5', '5']]],
    ['[N62] a parameter given twice', 'status', 'parameter_invalid', [['draft', 'past']]],
    ['[N16] an unknown venue', 'venue_id', 'resource_missing', ['ven_none']],
    ['[N61] [N16] the cursor of no event', 'starting_after', 'resource_missing', ['evt_none', venueId]],
    ['[N61] [N16] the cursor of no event', 'ending_before', 'resource_missing', ['evt_none', venueId]],
    ['[S72] an invalid date', 'starts_after', 'parameter_invalid', ['now']],
    ['[S73] a day that does not exist', 'starts_before', 'parameter_invalid', ['2026-02-30']],
    ['[N13] an unknown parameter', 'sort', 'parameter_unknown', ['title']],
    ['[N13] an unknown parameter', 'startsAfter', 'parameter_unknown', [early]],
    ['[N13] an unknown parameter', '__proto__', 'parameter_unknown', ['x']],
  ])('%s: %s', (_, param, code, values) => {
    for (const value of values) {
      const refusal = thrownRefusal(() => account.listEvents(Object.fromEntries([[param, value]])))
      expect([refusal.code, refusal.param, refusal.problems.length]).toEqual([code, param, 1])
    }
  })

  test.each([
    ['[N59] [N14] two cursors', { starting_after: id, ending_before: id }, 'ending_before'],
    [
      '[N14] a range that ends before it starts',
      { starts_after: late, starts_before: early },
      'starts_before',
    ],
  ])('%s', (_, query, param) => {
    expect(apiRefusalOf(() => account.listEvents(query))).toEqual(['parameter_conflict', param])
  })

  test('[N64] a + that became a space, and says to write %2B', () => {
    const { message } = thrownRefusal(() => account.listEvents({ starts_after: '2026-03-01T00:00:00 01:00' }))
    expect(message).toBe(
      'starts_after has a space where its offset has a sign: in a query + means a space, so write %2B. It was "2026-03-01T00:00:00 01:00".',
    )
  })

  test('[N62] [N15] all problems at once', () => {
    const { problems } = thrownRefusal(() => account.listEvents({ limit: '0', status: ['a', 'b'], x: '1' }))
    expect(problems.map(({ message }) => message)).toEqual([
      'status is given 2 times: give it once.',
      'limit must be at least 1, not 0.',
      expect.stringContaining('There is no parameter x: there are status, venue_id'),
    ])
  })
})

describe('the list of venues', () => {
  test('[S56] [S35] [N42] has three from the beginning', () => {
    const { data, hasMore } = ticketing().account.listVenues({})
    expect(data).toHaveLength(3)
    expect(hasMore).toBe(false)
    for (const venue of data) {
      expect(venue.id).toMatch(/^ven_[0-9A-Za-z]{20}$/)
      const fields = 'id name address city country timezone capacity created_at'
      expect(Object.keys(venue).join(' ')).toBe(fields)
    }
  })

  test('[N65] [N57] has pages as that of the events', () => {
    const { account } = ticketing()
    for (const name of ['A', 'B']) account.createVenue({ name })
    const all = account.listVenues({}).data
    const [newest, second, third] = all
    expect(newest?.name).toBe('B')
    const afterNewest = account.listVenues({ limit: '1', starting_after: newest?.id })
    expect(afterNewest).toEqual({ data: [second], hasMore: true })
    const beforeThird = account.listVenues({ limit: '2', ending_before: third?.id })
    expect(beforeThird).toEqual({ data: [newest, second], hasMore: false })
  })

  test.each<[Record<string, unknown>, RefusalCode, string]>([
    [{ status: 'draft' }, 'parameter_unknown', 'status'],
    [{ limit: '101' }, 'parameter_invalid', 'limit'],
    [{ limit: ['1', '2'] }, 'parameter_invalid', 'limit'],
    [{ starting_after: 'ven_none' }, 'resource_missing', 'starting_after'],
    [{ starting_after: 'ven_a', ending_before: 'ven_b' }, 'parameter_conflict', 'ending_before'],
  ])('[N65] refuses %j', (query, code, param) => {
    expect(apiRefusalOf(() => ticketing().account.listVenues(query))).toEqual([code, param])
  })
})

test.each([
  ['the newest', {}],
  ['after a cursor', { starting_after: 'evt_500' }],
  ['before a cursor', { ending_before: 'evt_500' }],
])('a page looks at its own items and one more, of however many there are: %s', (_, cursor) => {
  const collection = new Collection<{ id: string; index: number }>('event')
  for (let index = 0; index < 1000; index++) collection.add({ id: `evt_${index}`, index })
  let lookedAt = 0
  const page = collection.page({ limit: 10, ...cursor }, () => {
    lookedAt += 1
    return true
  })
  expect(page.data).toHaveLength(10)
  expect(lookedAt).toBe(11)
})
