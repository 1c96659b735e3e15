import { Pool } from 'pg'
import { ddl, postgresInbox } from 'tix-webhooks/postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { atOnce } from '../../../support/at-once.js'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, openPg } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { never } from '../../../support/promises.js'

const GIVEN_UP = { status: 503, outcome: 'timed_out', retryAfter: '5' }
const LIMITS = { timeoutSeconds: 5, maxRunSeconds: 0.3 }

/** Comes again, as a sender does: on a slow machine the limit of these tests can end a good run too. */
async function untilDone(send: () => Promise<{ status: number }>): Promise<void> {
  while ((await send()).status !== 200);
}

onPostgres('a run in postgresInbox whose handler waits for a statement that is stuck', () => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)

  // At once: it takes four seconds for the connection to be given up.
  test('ends, over each library', async () => {
    await atOnce(INBOX_CLIENTS, async (library) => {
      const client = library.open(database, { max: 1 })
      let isFirst = true
      const { send } = await endpoint({
        inbox: client.inbox(),
        ...LIMITS,
        timeoutSeconds: 10,
        on: {
          'order.created': async (event, { tx }) => {
            await client.run(tx, `INSERT INTO effects VALUES ('${event.data.order.id}')`)
            if (!isFirst) return
            isFirst = false
            await client.run(tx, 'SELECT pg_sleep(60)')
          },
        },
      })
      const order = orderCreated({ id: library.name })
      expect(await send(order)).toEqual(GIVEN_UP)
      await untilDone(() => send(order))
    })
    expect(await database.column('SELECT id FROM effects ORDER BY id')).toEqual(
      INBOX_CLIENTS.map(({ name }) => name).sort(),
    )
  })
})

onPostgres('a pool of pg that a handler uses beside ctx.tx', () => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)

  describe.each([1, 2])('with %i connections', (max) => {
    test('is named in the report of the handler that waits for itself', async () => {
      const pool = openPg(database, { max })
      const { send, reports } = await endpoint({
        inbox: postgresInbox(pool),
        timeoutSeconds: 1,
        maxRunSeconds: 2,
        on: { 'order.created': () => pool.query('SELECT 1') },
      })
      const held = await Promise.all(Array.from({ length: max - 1 }, () => pool.connect()))
      expect((await send(orderCreated())).outcome).toBe('timed_out')
      expect(reports[0]?.message).toMatch(
        new RegExp(
          `no idle connection \\(${max} in use, 1 waiting\\).*Use ctx.tx alone.*connectionTimeoutMillis`,
        ),
      )
      for (const client of held) client.release()
    })
  })

  test('is not blamed where a handler is slow by itself', async () => {
    const pool = new Pool({ connectionString: database.url, options: database.settings(), max: 1 })
    onTestFinished(() => pool.end())
    const { send, reports } = await endpoint({
      inbox: postgresInbox(pool),
      timeoutSeconds: 0.3,
      maxRunSeconds: 1,
      on: { 'order.created': () => never() },
    })
    expect((await send(orderCreated())).outcome).toBe('timed_out')
    expect(reports[0]?.message).toMatch(/raise timeoutSeconds if the sender waits longer\.$/)
  })
})
