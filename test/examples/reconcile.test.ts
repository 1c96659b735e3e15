/** @module-tag slow */
import { createSandbox } from 'tix-webhooks-sandbox'
import { expect, onTestFinished, test, vi } from 'vitest'
import { SECRET } from '../support/deliveries.js'
import { exampleEnvironment } from '../support/examples.js'
import { portOf } from '../support/http.js'

exampleEnvironment()

test('examples/reconcile.ts finds in the API what an outage of more than 72 hours has lost, once', async () => {
  vi.stubEnv('TIX_API_KEY', 'sk_test_local')
  const { server, db, reconcile } = await import('../../examples/reconcile.js')
  const sandbox = createSandbox({
    startAt: '2026-11-20T12:00:00Z',
    seed: 5,
    secret: SECRET,
    endpoints: [{ url: `http://127.0.0.1:${await portOf(server)}/hooks` }],
  })
  vi.stubEnv('TIX_API', await sandbox.listen({ port: 0 }))
  onTestFinished(async () => {
    await sandbox.close()
    server.close()
    db.close()
  })
  const rows = (sql: string): unknown[][] =>
    db
      .prepare(sql)
      .all()
      .map((row) => Object.values(row as object))
  const listing = () => rows('SELECT event_id, state, doors_at FROM listing ORDER BY event_id')
  const mails = () => rows('SELECT event_id FROM outbox ORDER BY event_id').flat()

  const [venue] = sandbox.account.listVenues().data
  const newEvent = (doors_at = '2027-05-17T19:30:00+02:00') =>
    sandbox.account.createEvent({
      title: 'Harbour Jazz',
      venue_id: venue?.id ?? '',
      doors_at,
      tickets: [{ name: 'general admission', price_cents: 2700, quantity: 100 }],
    })
  const sell = ({ id, tickets: [{ id: ticket_tier_id }] }: ReturnType<typeof newEvent>, quantity: number) =>
    sandbox.account.createOrder({ event_id: id, ticket_tier_id, quantity })

  // Before the outage: all of it arrives.
  const [kept, moved, cancelled, done] = [newEvent(), newEvent(), newEvent(), newEvent()]
  for (const { id } of [kept, moved, cancelled, done]) sandbox.account.publishEvent(id)
  sandbox.account.cancelEvent(done.id)
  sell(kept, 2)
  await sandbox.clock.advance('1m')
  expect(listing()).toHaveLength(4)
  expect(await reconcile()).toEqual({ caughtUp: 0, ticketsMissing: 0 })

  // During the outage: the service gives up.
  sandbox.endpoints.update(sandbox.endpoints.list()[0]?.id ?? '', { url: 'http://127.0.0.1:9/hooks' })
  sandbox.account.rescheduleEvent(moved.id, { doors_at: '2027-06-17T19:30:00+02:00' })
  sandbox.account.cancelEvent(cancelled.id)
  const published = newEvent()
  sandbox.account.publishEvent(published.id)
  // More than a page, of which nothing is owed.
  for (let i = 0; i < 100; i++) newEvent()
  sell(kept, 3)
  await sandbox.clock.advance('100h')
  expect(sandbox.deliveries.counts()).toMatchObject({ failed: 4 })

  // Two at once, as when two processes do it.
  const found = await Promise.all([reconcile(), reconcile()])
  expect(found.map(({ caughtUp }) => caughtUp).reduce((sum, n) => sum + n)).toBe(3)
  expect(found.map(({ ticketsMissing }) => ticketsMissing)).toEqual([3, 3])
  const now = listing()
  expect(new Map(now.map(([id, ...rest]) => [id, rest]))).toEqual(
    new Map([
      [kept.id, ['on sale', kept.doors_at]],
      [moved.id, ['on sale', sandbox.account.retrieveEvent(moved.id).doors_at]],
      [cancelled.id, ['cancelled', cancelled.doors_at]],
      [done.id, ['cancelled', done.doors_at]],
      [published.id, ['on sale', published.doors_at]],
    ]),
  )
  expect(mails()).toEqual([cancelled.id, done.id].sort())
  expect(await reconcile()).toEqual({ caughtUp: 0, ticketsMissing: 3 })

  // And what is resent by hand after all is not done twice, nor does it undo anything.
  sandbox.endpoints.update(sandbox.endpoints.list()[0]?.id ?? '', {
    url: `http://127.0.0.1:${await portOf(server)}/hooks`,
  })
  for (const { id } of sandbox.deliveries.list({ status: 'failed' })) await sandbox.deliveries.resend(id)
  expect([listing(), mails().length]).toEqual([now, 2])
  expect(await reconcile()).toEqual({ caughtUp: 0, ticketsMissing: 0 })

  // Each night, for longer than records are kept by default.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 8 * 86_400_000 })
  onTestFinished(() => void vi.useRealTimers())
  expect(await reconcile()).toEqual({ caughtUp: 0, ticketsMissing: 0 })
  expect([listing(), mails().length]).toEqual([now, 2])
})
