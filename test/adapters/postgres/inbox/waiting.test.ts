import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { atOnce } from '../../../support/at-once.js'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS } from '../../../support/postgres-clients.js'
import { type TestDatabase, testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { deferred } from '../../../support/promises.js'
import { SOON_HEADER } from '../../../support/retry-after.js'

const HANDLED = { status: 200, outcome: 'handled' }
const DUPLICATE = { status: 200, outcome: 'duplicate' }

onPostgres('postgresInbox, over each library,', () => {
  const rows = INBOX_CLIENTS.map((library) => ({
    name: library.name,
    library,
    database: testDatabase('CREATE TABLE effects (id text)', ddl),
  }))
  const effectsIn = (database: TestDatabase) => database.column('SELECT id FROM effects ORDER BY id')

  beforeEach(() =>
    atOnce(rows, async ({ database }) => void (await database.query('TRUNCATE effects, tix_webhooks_inbox'))),
  )

  test('answers by the deadline what waits for a connection, and never runs it later', () =>
    atOnce(rows, async ({ library, database }) => {
      const client = library.open(database, { max: 1 })
      const entered = deferred()
      const leave = deferred()
      const runs: string[] = []
      const { send, hooks, reports } = await endpoint({
        inbox: client.inbox(),
        // By default it would wait for a place among the runs instead.
        concurrency: Number.POSITIVE_INFINITY,
        timeoutSeconds: 1,
        on: {
          'order.created': async (event, { tx }) => {
            const { id } = event.data.order
            runs.push(id)
            await client.run(tx, `INSERT INTO effects VALUES ('${id}')`)
            if (id !== 'holding') return
            entered.resolve()
            await leave.promise
          },
        },
      })
      const [holding, waiting] = [orderCreated({ id: 'holding' }), orderCreated({ id: 'waiting' })]
      const first = send(holding)
      await entered.promise
      expect(await send(waiting)).toEqual({ status: 503, outcome: 'unavailable', retryAfter: SOON_HEADER })
      expect(reports.map(({ message }) => message).join()).toMatch(
        /had not opened a transaction by the deadline \(timeoutSeconds\).*too small/,
      )
      expect(await first).toEqual({ status: 503, outcome: 'timed_out', retryAfter: '5' })
      leave.resolve()
      // Waits its turn behind the one that was given up, on the one connection.
      expect(await client.inbox().once({ key: 'behind', retainMs: 60_000 }, async () => {})).toEqual({
        status: 'handled',
      })
      expect(runs).toEqual(['holding'])
      expect(await effectsIn(database)).toEqual(['holding'])
      expect([await send(holding), await send(waiting)]).toEqual([DUPLICATE, HANDLED])
      expect(await effectsIn(database)).toEqual(['holding', 'waiting'])
      await hooks.drain()
    }))
})
