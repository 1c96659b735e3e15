import { ddl } from 'tix-webhooks/postgres'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../support/deliveries.js'
import { onPostgres } from '../support/on-servers.js'
import { INBOX_CLIENTS } from '../support/postgres-clients.js'
import { testDatabase } from '../support/postgres-database.js'
import { endpoint } from '../support/postgres-endpoint.js'
import { runs } from '../support/runs.js'

const EVENTS = runs(30)

// Events that are lost for good are waited for until this timeout.
vi.setConfig({ testTimeout: 60_000 + 500 * EVENTS })

const LANES = 8

// Between Drizzle and postgres.js, nothing can keep a statement from a socket that is about to close, and postgres.js then waits
// for ever: docs/libraries.md recommends Drizzle on pg.
const CLIENTS = INBOX_CLIENTS.filter(({ name }) => name !== 'Drizzle on postgres.js')

// An unhandled 'error' or rejection ends the process, and so fails the whole file.
onPostgres.each(CLIENTS)('an inbox over $name whose backends are terminated at random', (library) => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)

  describe.each([1, 5])('with %i connections', (max) => {
    test('has each effect exactly once, and no connection is lost for good', async () => {
      await database.query('TRUNCATE effects, tix_webhooks_inbox')
      const name = `${database.schema}_${max}`
      const client = library.open(database, { max, settings: { application_name: name } })
      const { send, hooks } = await endpoint({
        inbox: client.inbox(),
        timeoutSeconds: 5,
        on: {
          'order.created': async (event, { tx }) => {
            const { id } = event.data.order
            await client.run(tx, `INSERT INTO effects VALUES ('${id}')`)
            await client.run(tx, 'SELECT pg_sleep(0.002)')
          },
        },
      })

      let isOver = false
      let terminated = 0
      async function terminate(): Promise<void> {
        while (!isOver) {
          const [killed] = await database.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = $1 ORDER BY random() LIMIT 1`,
            [name],
          )
          if (killed !== undefined) terminated += 1
          // So that some work gets done in between, even with a single connection.
          await database.query('SELECT pg_sleep(random() * 0.04)')
        }
      }
      const terminating = terminate()

      const orders = Array.from({ length: EVENTS }, (_, n) => orderCreated({ id: `order ${n}` }))
      const queue = [...orders]
      async function lane(): Promise<void> {
        for (let order = queue.shift(); order !== undefined; order = queue.shift()) {
          while ((await send(order)).status !== 200);
        }
      }
      await Promise.all(Array.from({ length: LANES }, lane))
      isOver = true
      await terminating
      await hooks.drain()

      const ids = orders.map(({ data }) => data.order.id).sort()
      expect((await database.column('SELECT id FROM effects')).map(String).sort()).toEqual(ids)
      expect(terminated).toBeGreaterThan(0)
      // Every place in the pool can be taken: no finished transaction holds one. The pool may still have a connection that was
      // terminated last; its place is free again.
      let inside = 0
      async function take(id: string, tries = 100): Promise<void> {
        let isInside = false
        try {
          await client.inbox().once({ key: null, retainMs: 60_000 }, async (tx) => {
            isInside = true
            inside += 1
            while (inside < max) await client.run(tx, `SELECT '${id}', pg_sleep(0.01)`)
          })
        } catch (error) {
          if (tries === 0) throw error
          if (isInside) inside -= 1
          await take(id, tries - 1)
        }
      }
      await Promise.all(orders.slice(0, max).map(({ data }) => take(data.order.id)))
    })
  })
})
