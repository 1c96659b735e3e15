import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { Collection } from '../../domain/collection.js'
import type { RefusalCode } from '../../domain/refusal.js'
import { EVENT_STATUSES } from '../../domain/resources.js'
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
    [{ starts_after: '2026-07-02T18:00:00' }, [3, 2]],
    [{ starts_after: '2026-07-02T18:00:00.001Z' }, [3]],
    [{ starts_before: '2026-07-02T18:00:00Z' }, [1]],
    [{ starts_before: '2026-07-02T18:00:00.001Z' }, [2, 1]],
    [{ starts_after: '2026-07-02', starts_before: '2026-07-03' }, [2]],
    [{ starts_after: '2026-07-02', starts_before: '2026-07-02' }, []],
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
      ['x', '1.5', '1e1', '010', ' 5', '', '9'.repeat(400)],
    ],
    ['[S70] an unknown status', 'status', 'parameter_invalid', ['open', '']],
    ['[N62] a parameter given twice', 'limit', 'parameter_invalid', [['5', '5']]],
    ['[N16] an unknown venue', 'venue_id', 'resource_missing', ['ven_none']],
    ['[N61] [N16] the cursor of no event', 'starting_after', 'resource_missing', ['evt_none', venueId]],
    ['[S72] an invalid date', 'starts_after', 'parameter_invalid', ['now']],
    ['[N64] a + that became a space', 'starts_after', 'parameter_invalid', ['2026-03-01T00:00:00 01:00']],
    ['[S73] a day that does not exist', 'starts_before', 'parameter_invalid', ['2026-02-30']],
    ['[N13] an unknown parameter', 'sort', 'parameter_unknown', ['title']],
    ['[N13] an unknown parameter', '__proto__', 'parameter_unknown', ['x']],
  ])('%s: %s', (_, param, code, values) => {
    for (const value of values) {
      const refusal = thrownRefusal(() => account.listEvents(Object.fromEntries([[param, value]])))
      expect([refusal.code, refusal.param, refusal.problems.length]).toEqual([code, param, 1])
    }
  })

  test('[N59] [N14] two cursors, and a range that ends before it starts', () => {
    const refused = (query: object) => apiRefusalOf(() => account.listEvents(query))
    const conflict = 'parameter_conflict'
    expect(refused({ starting_after: id, ending_before: id })).toEqual([conflict, 'ending_before'])
    expect(refused({ starts_after: late, starts_before: early })).toEqual([conflict, 'starts_before'])
  })
})

describe('the list of venues', () => {
  test('[S56] [S35] [N42] [N57] [N65] has three from the beginning, and pages as that of the events', () => {
    const { account } = ticketing()
    const { data, hasMore } = account.listVenues({})
    expect([data.length, hasMore]).toEqual([3, false])
    const fields = 'id name address city country timezone capacity created_at'
    for (const venue of data) expect(Object.keys(venue).join(' ')).toBe(fields)
    const [newest, second, third] = data
    const after = account.listVenues({ limit: '1', starting_after: newest?.id })
    expect(after).toEqual({ data: [second], hasMore: true })
    const before = account.listVenues({ limit: '2', ending_before: third?.id })
    expect(before).toEqual({ data: [newest, second], hasMore: false })
  })

  test.each<[Record<string, unknown>, RefusalCode, string]>([
    [{ status: 'draft' }, 'parameter_unknown', 'status'],
    [{ limit: '101' }, 'parameter_invalid', 'limit'],
    [{ starting_after: 'ven_none' }, 'resource_missing', 'starting_after'],
  ])('[N65] refuses %j', (query, code, param) => {
    expect(apiRefusalOf(() => ticketing().account.listVenues(query))).toEqual([code, param])
  })
})

test('a page looks at its own items and one more, of however many there are', () => {
  const collection = new Collection<{ id: string; index: number }>('event')
  for (let index = 0; index < 1000; index++) collection.add({ id: `evt_${index}`, index })
  let lookedAt = 0
  const page = collection.page({ limit: 10, starting_after: 'evt_500' }, () => {
    lookedAt += 1
    return true
  })
  expect(page.data).toHaveLength(10)
  expect(lookedAt).toBe(11)
})

const days = ['2026-07-01', '2026-07-02', '2026-07-03', '2026-07-04']

const events = fc.array(
  fc.record({ status: fc.constantFrom(...EVENT_STATUSES), day: fc.constantFrom(...days), venue: fc.nat(2) }),
  { maxLength: 30 },
)

const filters = fc.record(
  {
    status: fc.constantFrom(...EVENT_STATUSES),
    venue: fc.nat(2),
    range: fc.tuple(fc.nat(3), fc.nat(3)).map((pair) => pair.sort()),
  },
  { requiredKeys: [] },
)

test('[S10] [S50] [S70] [S71] [S75] [S76] [S77] [N57] [N59] [N60] [N61] pages have all events that match, newest first, in both directions from any cursor', {
  tags: ['slow'],
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      events,
      filters,
      fc.integer({ min: 1, max: 7 }),
      fc.nat(),
      async (given, filter, limit, at) => {
        const service = ticketing()
        const { account, clock } = service
        const venues = account.listVenues({}).data.map(({ id }) => id)
        const created = given.map(({ status, day, venue }) => {
          const event = service.create({
            doors_at: `${day}T19:00Z`,
            // The others end late, so that only these are past.
            ...(status !== 'past' && { ends_at: '2027-01-01T00:00Z' }),
            venue_id: venues[venue],
          })
          if (status !== 'draft') account.publishEvent(event.id)
          if (status === 'cancelled') account.cancelEvent(event.id)
          if (status === 'sold_out') {
            service.order(event, 3, 0)
            service.order(event, 2, 1)
          }
          return event.id
        })
        await clock.advanceTo(Date.parse('2026-08-01T00:00Z'))

        const query = {
          ...(filter.status && { status: filter.status }),
          ...(filter.venue !== undefined && { venue_id: venues[filter.venue] }),
          ...(filter.range && {
            starts_after: days[filter.range[0] ?? 0],
            starts_before: `${days[filter.range[1] ?? 0]}T23:00Z`,
          }),
        }
        const matches = created
          .map((id) => account.retrieveEvent(id))
          .filter(
            (event) =>
              (!filter.status || event.status === filter.status) &&
              (filter.venue === undefined || event.venue_id === venues[filter.venue]) &&
              (!filter.range ||
                (event.doors_at.slice(0, 10) >= String(days[filter.range[0] ?? 0]) &&
                  event.doors_at.slice(0, 10) <= String(days[filter.range[1] ?? 0]))),
          )
          .reverse()

        const walk = (param: 'starting_after' | 'ending_before', from?: string) => {
          const pages = []
          let cursor = from
          for (let hasMore = true; hasMore; ) {
            const page = account.listEvents({ ...query, limit, ...(cursor && { [param]: cursor }) })
            expect(page.data.length).toBeLessThanOrEqual(limit)
            if (page.hasMore) expect(page.data).toHaveLength(limit)
            pages.push(page.data)
            hasMore = page.hasMore
            cursor = param === 'starting_after' ? page.data.at(-1)?.id : page.data[0]?.id
          }
          return param === 'starting_after' ? pages.flat() : pages.reverse().flat()
        }
        expect(walk('starting_after')).toEqual(matches)

        const cursor = created[at % Math.max(created.length, 1)]
        if (cursor === undefined) return
        const place = created.indexOf(cursor)
        const isOlder = ({ id }: { id: string }): boolean => created.indexOf(id) < place
        const isNewer = ({ id }: { id: string }): boolean => created.indexOf(id) > place
        expect(walk('starting_after', cursor)).toEqual(matches.filter(isOlder))
        expect(walk('ending_before', cursor)).toEqual(matches.filter(isNewer))
      },
    ),
    { numRuns: runs(75) },
  )
})
