import { createSandbox } from 'tix-webhooks-sandbox'
import { expect, onTestFinished, test, vi } from 'vitest'
import { SECRET } from '../support/deliveries.js'
import { exampleEnvironment, schemaUrl } from '../support/examples.js'
import { portOf } from '../support/http.js'
import { onPostgres } from '../support/on-servers.js'
import { testDatabase } from '../support/postgres-database.js'

const EVENTS = 12
const printed = exampleEnvironment()

onPostgres('examples/ordering.ts and the sandbox, over HTTP', () => {
  const database = testDatabase()

  test('end each event cancelled: all webhooks in one second, failures, duplicates, and the scenarios of order', async () => {
    vi.stubEnv('DATABASE_URL', schemaUrl(database))
    const { server, pool } = await import('../../examples/ordering.js')
    const sandbox = createSandbox({
      startAt: '2026-11-20T12:00:00Z',
      seed: 11,
      secret: SECRET,
      endpoints: [{ url: `http://127.0.0.1:${await portOf(server)}/hooks` }],
      assume: { 'created-at': 'seconds' },
      chaos: { duplicate: 0.5 },
      jitter: 0.5,
    })
    onTestFinished(async () => {
      await sandbox.close()
      server.close()
      await pool.end()
    })

    const [venue] = sandbox.account.listVenues().data
    const ids = Array.from({ length: EVENTS }, (_, i) => {
      const { id } = sandbox.account.createEvent({
        title: `Harbour Jazz ${i}`,
        venue_id: venue?.id ?? '',
        doors_at: '2027-05-17T19:30:00+02:00',
        tickets: [{ name: 'general admission', price_cents: 2700, quantity: 100 }],
      })
      return id
    })
    const tell = (events: readonly string[]): void => {
      for (const id of events) {
        sandbox.account.publishEvent(id)
        sandbox.account.rescheduleEvent(id, { doors_at: '2027-06-17T19:30:00+02:00' })
        sandbox.account.cancelEvent(id)
      }
    }
    // The retries of the first half are at random times, so they arrive in another order.
    await database.query('ALTER TABLE listing RENAME TO away')
    tell(ids.slice(0, EVENTS / 2))
    await sandbox.clock.advance('10s')
    await database.query('ALTER TABLE away RENAME TO listing')
    tell(ids.slice(EVENTS / 2))
    await sandbox.clock.advance('72h')

    expect(sandbox.deliveries.counts()).toMatchObject({ delivered: EVENTS * 3, failed: 0 })
    const created = sandbox.deliveries.list().map(({ message }) => JSON.parse(message.body).created_at)
    expect(new Set(created).size).toBeLessThan(4)
    const states = 'SELECT state, count(*)::int AS n FROM listing GROUP BY state'
    expect(await database.query(states)).toEqual([{ state: 'cancelled', n: EVENTS }])
    // Not because everything arrived in order.
    expect(printed.filter((line) => line.endsWith('came too late')).length).toBeGreaterThan(0)
    expect(printed.some((line) => line.includes('listing" does not exist'))).toBe(true)

    // Older events of the same subjects, and ties: none of them reopens a cancelled event.
    for (const scenario of ['reordered', 'tied']) {
      const { attempts } = await sandbox.trigger('event.cancelled', {
        scenario,
        set: { 'data.event.id': `evt_${scenario}` },
      })
      expect(attempts.map(({ response }) => response?.status)).toEqual(attempts.map(() => 200))
    }
    expect(await database.query(states)).toEqual([{ state: 'cancelled', n: EVENTS + 2 }])
  })
})
