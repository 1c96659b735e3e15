import { createConnection } from 'mysql2/promise'
import { mysqlInbox } from 'tix-webhooks/mysql'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../support/deliveries.js'
import { createMysql2, MYSQL_INBOX_CLIENTS } from '../support/mysql-clients.js'
import { testMysqlDatabase } from '../support/mysql-database.js'
import { mysqlUrl, onMysql } from '../support/on-servers.js'
import { endpoint } from '../support/postgres-endpoint.js'
import { runs } from '../support/runs.js'

const EVENTS = runs(30)

// Events that are lost for good are waited for until this timeout.
vi.setConfig({ testTimeout: 60_000 + 500 * EVENTS })

const LANES = 8
const KILLS = ['KILL CONNECTION', 'KILL QUERY'] as const

// Drizzle hands on the connection of the same pool of mysql2.
const CLIENTS = MYSQL_INBOX_CLIENTS.filter(({ name }) => name !== 'Drizzle on mysql2')

// An unhandled 'error' or rejection ends the process, and so fails the whole file.
onMysql.each(CLIENTS)('an inbox over $name whose connections are killed at random', (library) => {
  const database = testMysqlDatabase('CREATE TABLE effects (id VARCHAR(64))')
  beforeAll(async () => {
    const pool = createMysql2(database.url)
    await mysqlInbox(pool)
      .migrate()
      .finally(() => pool.end())
  })

  describe.each([1, 5])('with %i connections', (max) => {
    test('has each effect exactly once, and no connection is lost for good', async () => {
      await database.query('DELETE FROM effects')
      await database.query('DELETE FROM tix_webhooks_inbox')
      // It is in another database than those that it kills.
      const killer = await createConnection(mysqlUrl())
      const ask = async (sql: string) => (await killer.query(sql))[0] as Record<string, unknown>[]
      const ids = async (): Promise<unknown[]> =>
        (await ask(`SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = '${database.name}'`)).map(
          ({ id }) => id,
        )
      const ofTheTest = await ids()
      const client = library.open(database, { connectionLimit: max })
      const { send, hooks } = await endpoint({
        inbox: client.inbox(),
        timeoutSeconds: 5,
        on: {
          'order.created': async (event, { tx }) => {
            const { id } = event.data.order
            await client.run(tx, `INSERT INTO effects VALUES ('${id}')`)
            await client.run(tx, 'SELECT SLEEP(0.002)')
          },
        },
      })

      let isOver = false
      let turn = 0
      const killed = new Set<string>()
      async function kill(): Promise<void> {
        while (!isOver) {
          const living = (await ids()).filter((id) => !ofTheTest.includes(id))
          const id = living[Math.floor(Math.random() * living.length)]
          const how = KILLS[turn++ % KILLS.length] as string
          if (id !== undefined) {
            // It may have ended since.
            await ask(`${how} ${id}`).then(
              () => killed.add(how),
              () => {},
            )
          }
          // So that some work gets done in between, even with a single connection.
          await ask('SELECT SLEEP(RAND() * 0.04)')
        }
      }
      const killing = kill()

      const orders = Array.from({ length: EVENTS }, (_, n) => orderCreated({ id: `order ${n}` }))
      const queue = [...orders]
      async function lane(): Promise<void> {
        for (let order = queue.shift(); order !== undefined; order = queue.shift()) {
          while ((await send(order)).status !== 200);
        }
      }
      await Promise.all(Array.from({ length: LANES }, lane))
      isOver = true
      await killing
      await killer.end()
      await hooks.drain()

      const handled = orders.map(({ data }) => data.order.id).sort()
      expect((await database.column('SELECT id FROM effects')).map(String).sort()).toEqual(handled)
      expect([...killed].sort()).toEqual(KILLS)
      // Every place in the pool can be taken: no finished transaction holds one. The pool may still have a connection that was
      // killed last; its place is free again.
      let inside = 0
      async function take(id: string, tries = 100): Promise<void> {
        let isInside = false
        try {
          await client.inbox().once({ key: null, retainMs: 60_000 }, async (tx) => {
            isInside = true
            inside += 1
            while (inside < max) await client.run(tx, `SELECT '${id}', SLEEP(0.01)`)
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
