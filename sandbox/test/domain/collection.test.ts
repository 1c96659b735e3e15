import { describe, expect, test } from 'vitest'
import { Collection } from '../../domain/collection.js'
import type { RefusalCode } from '../../domain/refusal.js'
import { EVENT_STATUSES } from '../../domain/resources.js'
import { apiRefusalOf, thrownRefusal, ticketing } from '../support/ticketing.js'

/** An account with this many events, the newest of which is the last. */
function accountWith(count: number) {
  const service = ticketing()
  const ids = Array.from({ length: count }, (_, index) => service.create({ title: `Night ${index}` }).id)
  const list = (query: Record<string, unknown> = {}) => {
    const { data, hasMore } = service.account.listEvents(query)
    return { ids: data.map(({ id }) => id), hasMore }
  }
  return { ...service, ids, list }
}

describe('the list of events', () => {
  test('[S50] [S77] [N57] has all of them, the newest first', () => {
    const { ids, list, account } = accountWith(3)
    expect(list()).toEqual({ ids: [...ids].reverse(), hasMore: false })
    expect(account.listEvents(undefined).data).toEqual(
      [...ids].reverse().map((id) => account.retrieveEvent(id)),
    )
  })

  test('[S74] has 25 unless a limit is given, which is 1 to 100', () => {
    const { list, ids } = accountWith(101)
    const newest = [...ids].reverse()
    expect(list()).toEqual({ ids: newest.slice(0, 25), hasMore: true })
    expect(list({ limit: '1' })).toEqual({ ids: newest.slice(0, 1), hasMore: true })
    expect(list({ limit: '100' })).toEqual({ ids: newest.slice(0, 100), hasMore: true })
    expect(list({ limit: 100, starting_after: newest[0] })).toEqual({ ids: newest.slice(1), hasMore: false })
  })

  test.each(EVENT_STATUSES)('[S10] [S70] is filtered by the status %s', async (status) => {
    const service = ticketing()
    const { account } = service
    const { id } = await service.eventIn(status)
    for (const other of EVENT_STATUSES) {
      expect(account.listEvents({ status: other }).data.map((event) => event.id)).toEqual(
        other === status ? [id] : [],
      )
    }
  })

  test('[S71] is filtered by the venue', () => {
    const { account, create, venueId } = ticketing()
    const there = create()
    const other = create({ venue_id: undefined, venue: { name: 'Barn' } })
    const idsAt = (venue_id: string) => account.listEvents({ venue_id }).data.map(({ id }) => id)
    expect(idsAt(venueId)).toEqual([there.id])
    expect(idsAt(other.venue_id)).toEqual([other.id])
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
  ])('[S72] [S73] [N63] by %j it has the events of the days %j', (query, days) => {
    const { account, create } = ticketing()
    for (const day of [1, 2, 3]) create({ title: String(day), doors_at: `2026-07-0${day}T19:00:00+01:00` })
    expect(account.listEvents(query).data.map(({ title }) => Number(title))).toEqual(days)
  })
})

describe('the list of events refuses', () => {
  const { account, create, venueId } = ticketing()
  const { id } = create()

  test.each<[string, Record<string, unknown>, RefusalCode, string]>([
    ['[S74] [N58] a limit of 0', { limit: '0' }, 'parameter_invalid', 'limit'],
    ['[S74] [N58] a limit of 101', { limit: '101' }, 'parameter_invalid', 'limit'],
    ['[N58] a limit of -1', { limit: '-1' }, 'parameter_invalid', 'limit'],
    ['[N58] a limit of x', { limit: 'x' }, 'parameter_invalid', 'limit'],
    ['[N58] a limit of 1.5', { limit: '1.5' }, 'parameter_invalid', 'limit'],
    ['[N58] a limit of 1e1', { limit: '1e1' }, 'parameter_invalid', 'limit'],
    ['[N58] a limit of 0x10', { limit: '0x10' }, 'parameter_invalid', 'limit'],
    ['[N58] a limit of 010', { limit: '010' }, 'parameter_invalid', 'limit'],
    ['[N58] a limit with a blank', { limit: ' 5' }, 'parameter_invalid', 'limit'],
    ['[N58] a limit that is empty', { limit: '' }, 'parameter_invalid', 'limit'],
    ['[N58] a limit of many digits', { limit: '9'.repeat(400) }, 'parameter_invalid', 'limit'],
    ['[S70] another status', { status: 'open' }, 'parameter_invalid', 'status'],
    ['[S70] a status that is empty', { status: '' }, 'parameter_invalid', 'status'],
    ['[N16] a venue that is not there', { venue_id: 'ven_none' }, 'resource_missing', 'venue_id'],
    ['[N61] [N16] a cursor of nothing', { starting_after: 'evt_none' }, 'resource_missing', 'starting_after'],
    [
      '[N61] [N16] a cursor of something else',
      { ending_before: venueId },
      'resource_missing',
      'ending_before',
    ],
    [
      '[N59] [N14] two cursors',
      { starting_after: id, ending_before: id },
      'parameter_conflict',
      'ending_before',
    ],
    ['[N62] a limit that is repeated', { limit: ['5', '5'] }, 'parameter_invalid', 'limit'],
    ['[N62] a status that is repeated', { status: ['draft', 'past'] }, 'parameter_invalid', 'status'],
    ['[S72] no moment', { starts_after: 'now' }, 'parameter_invalid', 'starts_after'],
    ['[S73] no day', { starts_before: '2026-02-30' }, 'parameter_invalid', 'starts_before'],
    [
      '[N14] a range that is upside down',
      { starts_after: '2026-07-02', starts_before: '2026-07-01' },
      'parameter_conflict',
      'starts_before',
    ],
    ['[N13] a parameter that there is not', { sort: 'title' }, 'parameter_unknown', 'sort'],
    ['[N13] one that is nearly there', { startsAfter: '2026-07-01' }, 'parameter_unknown', 'startsAfter'],
    ['[N13] one of every object', JSON.parse('{"__proto__":"x"}'), 'parameter_unknown', '__proto__'],
  ])('%s', (_, query, code, param) => {
    const refusal = thrownRefusal(() => account.listEvents(query))
    expect([refusal.code, refusal.param, refusal.problems.length]).toEqual([code, param, 1])
  })

  test('[N64] a + that became a space, and says how to write it', () => {
    const { message } = thrownRefusal(() => account.listEvents({ starts_after: '2026-03-01T00:00:00 01:00' }))
    expect(message).toBe(
      'starts_after has a space where its offset has a sign: in a query + means a space, so write %2B. It was "2026-03-01T00:00:00 01:00".',
    )
  })

  test('[N62] [N15] all that is wrong at once', () => {
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
      expect(Object.keys(venue)).toEqual([
        'id',
        'name',
        'address',
        'city',
        'country',
        'timezone',
        'capacity',
        'created_at',
      ])
    }
  })

  test('[N65] [N57] is paged as that of the events is', () => {
    const { account } = ticketing()
    for (const name of ['A', 'B']) account.createVenue({ name })
    const all = account.listVenues({}).data
    const [newest, second, third] = all
    expect(newest?.name).toBe('B')
    expect(account.listVenues({ limit: '1', starting_after: newest?.id })).toEqual({
      data: [second],
      hasMore: true,
    })
    expect(account.listVenues({ limit: '2', ending_before: third?.id })).toEqual({
      data: [newest, second],
      hasMore: false,
    })
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
