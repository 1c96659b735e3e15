import { ddl, postgresInbox } from 'tix-webhooks/postgres'
import { expect, test } from 'vitest'
import { atOnce } from '../../../support/at-once.js'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, openPostgresJs } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { deferred } from '../../../support/promises.js'

const HANDLED = { status: 200, outcome: 'handled' }

onPostgres('the runs of an inbox', () => {
  const database = testDatabase(ddl)

  const rows = [
    { name: 'pg', max: 3, runs: 2 },
    { name: 'postgres.js', max: 3, runs: 2 },
    { name: 'pg with one connection', max: 1, runs: 1 },
    { name: 'postgres.js with one connection', max: 1, runs: 1 },
    { name: 'pg with concurrency', max: 3, concurrency: 1, runs: 3 },
  ]

  test('leave a connection of the pool to the app, together with those of other receivers and inboxes on it', () =>
    atOnce(rows, async ({ name, max, concurrency, runs }) => {
      const options = { max, settings: { application_name: `${database.schema} ${name}` } }
      const pool = name.startsWith('pg') ? openPg(database, options) : openPostgresJs(database, options)
      const ask = () => ('unsafe' in pool ? pool.unsafe('SELECT 1') : pool.query('SELECT 1'))
      const [gate, full, allAsked] = [deferred(), deferred(), deferred()]
      let [started, asked] = [0, 0]
      const shared = postgresInbox(pool as ReturnType<typeof openPg>)
      const endpoints = await Promise.all(
        [shared, shared, postgresInbox(pool as ReturnType<typeof openPg>)].map((inbox) =>
          endpoint({
            inbox,
            concurrency,
            // The last step before a place is taken.
            key: (event) => {
              asked += 1
              if (asked === 6) allAsked.resolve()
              return `${name} ${(event.data as { order: { id: string } }).order.id}`
            },
            on: {
              'order.created': async () => {
                started += 1
                if (started === runs) full.resolve()
                await gate.promise
              },
            },
          }),
        ),
      )
      const sent = [0, 1].flatMap((i) =>
        endpoints.map(({ send }, receiver) => send(orderCreated({ id: `${receiver} ${i}` }))),
      )
      await Promise.all([full.promise, allAsked.promise])
      if (runs < max) await ask()
      const inTransactions = await database.column(
        "SELECT count(*)::int FROM pg_stat_activity WHERE application_name = $1 AND state = 'idle in transaction'",
        [options.settings.application_name],
      )
      expect([inTransactions, started]).toEqual([[runs], runs])
      gate.resolve()
      expect(await Promise.all(sent)).toEqual(sent.map(() => HANDLED))
      expect(started).toBe(6)
    }))

  test('are limited if the pool is known: one object for each', () => {
    const known = INBOX_CLIENTS.filter(({ open }) => open(database).inbox().connections !== undefined)
    expect(known.map(({ name }) => name)).toEqual(['pg', 'postgres.js', 'Drizzle on pg'])
    const [pool, other] = [openPg(database, { max: 7 }), openPg(database)]
    const { connections } = postgresInbox(pool)
    expect(connections).toEqual({ max: 7 })
    expect(postgresInbox(pool, { table: 'another' }).connections).toBe(connections)
    expect(postgresInbox(other).connections).not.toBe(connections)
  })
})
