import { ddl } from 'tix-webhooks/postgres'
import { expect, onTestFinished, test, vi } from 'vitest'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'

onPostgres.each(INBOX_CLIENTS.filter(({ name }) => name === 'pg' || name === 'postgres.js'))(
  'a delivery through postgresInbox over $name',
  ({ open }) => {
    const database = testDatabase(ddl)

    test('waits for no timer, each of which takes a millisecond', async () => {
      const client = open(database, { max: 1 })
      const inbox = client.inbox()
      const deliver = (key: string) =>
        inbox.once({ key, retainMs: 60_000 }, async (tx) => void (await client.run(tx, 'SELECT 1')))
      await deliver('connects')
      const timers = vi.spyOn(globalThis, 'setTimeout')
      onTestFinished(() => timers.mockRestore())
      expect(await deliver('timed')).toEqual({ status: 'handled' })
      expect(await deliver('timed')).toEqual({ status: 'duplicate' })
      // Time limits are longer.
      expect(timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms < 1_000)).toEqual([])
    })
  },
)
