import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/runs.js'
import { EVENT_STATUSES } from '../../domain/resources.js'
import { ticketing } from '../support/ticketing.js'

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
  timeout: 60_000,
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
