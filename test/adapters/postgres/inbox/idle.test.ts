import { memoryFailures } from 'tix-webhooks'
import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, describe, expect, test } from 'vitest'
import { atOnce } from '../../../support/at-once.js'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'

const HANDLED = { status: 200, outcome: 'handled' }

onPostgres.each(INBOX_CLIENTS)('postgresInbox over $name', (library) => {
  const database = testDatabase(ddl)

  beforeEach(() => database.query('TRUNCATE tix_webhooks_inbox'))

  describe('the limit on idle transactions', () => {
    const limitOf = (
      tx: unknown,
      client: { run: (tx: unknown, sql: string) => Promise<readonly object[]> },
    ) =>
      client
        .run(tx, "SELECT current_setting('idle_in_transaction_session_timeout') AS now")
        .then(([row]) => Object.values(row ?? {})[0])

    test.each<[string, Record<string, string>, { idleTimeoutSeconds?: number }, string]>([
      ['is a minute', {}, {}, '1min'],
      ['is what you set', {}, { idleTimeoutSeconds: 7 }, '7s'],
      ['is rounded up', {}, { idleTimeoutSeconds: 1.5 }, '2s'],
      ['is the server’s own where it has one', { idle_in_transaction_session_timeout: '90min' }, {}, '90min'],
      [
        'is the server’s own, though you set another',
        { idle_in_transaction_session_timeout: '3s' },
        { idleTimeoutSeconds: 7 },
        '3s',
      ],
    ])('%s, in that transaction alone', async (_, settings, options, expected) => {
      const client = library.open(database, { settings, max: 1 })
      const inbox = client.inbox(options)
      const outside = settings.idle_in_transaction_session_timeout ?? '0'
      for (const key of ['limited', null]) {
        let inside: unknown
        await inbox.once({ key, retainMs: 60_000 }, async (tx) => {
          inside = await limitOf(tx, client)
          // The next transaction on this connection begins with what is left of this one.
          await client.run(tx, "SELECT set_config('tix.seen', 'yes', false)")
        })
        expect(inside).toBe(expected)
      }
      await database.query('TRUNCATE tix_webhooks_inbox')
      const after = await outsideOf(client)
      expect(after).toEqual({ now: outside, seen: 'yes' })
    })

    /** The settings at the start of a transaction outside the inbox, on the only connection. */
    async function outsideOf(client: ReturnType<typeof library.open>): Promise<object | undefined> {
      let row: object | undefined
      await client.plain(async (tx) => {
        ;[row] = await client.run(
          tx,
          "SELECT current_setting('idle_in_transaction_session_timeout') AS now, current_setting('tix.seen') AS seen",
        )
      })
      return row && { ...row }
    }
  })
})

onPostgres('the limit on idle transactions of postgresInbox, over each library,', () => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const effectsOf = (id: string) => database.column('SELECT id FROM effects WHERE id = $1', [id])

  test('ends a transaction whose handler lets it lie; the event is kept, and can run again', () =>
    atOnce(INBOX_CLIENTS, async (library) => {
      const client = library.open(database)
      const inbox = client.inbox({ idleTimeoutSeconds: 1 })
      let isFirst = true
      const failures = memoryFailures()
      const { send } = await endpoint({
        inbox,
        failures,
        on: {
          'order.created': async (event, { tx }) => {
            await client.run(tx, `INSERT INTO effects VALUES ('${event.data.order.id}')`)
            if (!isFirst) return
            isFirst = false
            const [row] = await client.run(tx, 'SELECT pg_backend_pid() AS pid')
            while (
              (await database.query('SELECT FROM pg_stat_activity WHERE pid = $1', [row?.pid])).length > 0
            );
          },
        },
      })
      const order = orderCreated({ id: library.name })
      expect((await send(order)).status).toBe(503)
      // Some libraries learn only that the connection was closed, as in an outage.
      if (library.name === 'pg') {
        expect(await failures.list()).toMatchObject([{ code: 'rolled_back' }])
      }
      expect(await effectsOf(library.name)).toEqual([])
      expect(await send(order)).toEqual(HANDLED)
      expect(await effectsOf(library.name)).toEqual([library.name])
    }))
})
