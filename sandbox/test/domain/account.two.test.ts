import { expect, test } from 'vitest'
import { Account } from '../../domain/account.js'
import { Random } from '../../lib/random.js'
import { VirtualClock } from '../../time/clock.js'
import { thrownRefusal, ticketing } from '../support/ticketing.js'

test('[S4] [S82] [N5] two accounts of one clock share nothing', async () => {
  const clock = new VirtualClock({ frozen: true, startMs: Date.parse('2026-06-01T10:00Z') })
  const random = new Random(1)
  const told: string[] = []
  const [test, live] = (['test', 'live'] as const).map(
    (mode) =>
      new Account({
        clock,
        random,
        publicUrl: () => 'http://127.0.0.1:4010',
        emit: (kind) => void told.push(`${mode} ${kind}`),
      }),
  )
  if (test === undefined || live === undefined) throw new Error('There are two.')
  const [venue] = test.listVenues({}).data
  const body = ticketing().body({ venue_id: venue?.id, on_sale_at: '2026-06-02T00:00Z' })
  const event = test.createEvent(body)

  expect(thrownRefusal(() => live.retrieveEvent(event.id)).code).toBe('resource_missing')
  expect(thrownRefusal(() => live.cancelEvent(event.id)).code).toBe('resource_missing')
  expect(thrownRefusal(() => live.createEvent(body)).code).toBe('resource_missing')
  expect(thrownRefusal(() => live.listEvents({ starting_after: event.id })).code).toBe('resource_missing')
  expect(live.findBySlug(event.slug)).toBeUndefined()
  const ids = [test, live].map((account) => account.listVenues({}).data.map(({ id }) => id))
  expect(new Set(ids.flat()).size).toBe(6)

  await clock.advanceBy(24 * 60 * 60 * 1000)
  expect(told).toEqual(['test event.published'])
  live.restore(live.snapshot())
  expect(test.retrieveEvent(event.id).status).toBe('on_sale')
})
