import { ddl, postgresInbox } from 'tix-webhooks/postgres'
import { beforeEach, describe, expect, test } from 'vitest'
import { onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS, openPg } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'

const DAY_MS = 86_400_000
const RETAIN = { key: null, retainMs: 7 * DAY_MS }
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`
const TABLE = 'tix_webhooks_inbox_newest'

onPostgres('isNewest', () => {
  const database = testDatabase(ddl)
  const stored = (): Promise<unknown[]> =>
    database.column(
      `SELECT subject || ' ' || substr(changed_at, 18, 2) || ' ' || rank FROM ${TABLE} ORDER BY subject`,
    )

  beforeEach(() => database.query(`TRUNCATE tix_webhooks_inbox, ${TABLE}`))

  describe.each(INBOX_CLIENTS)('over $name', (library) => {
    test('is undone with a savepoint, and works in one', async () => {
      const client = library.open(database)
      const inbox = client.inbox()
      await inbox.once(RETAIN, async (tx) => {
        const undone = client.savepoint(tx, async (inner) => {
          await inbox.isNewest(inner, { subject: 'evt_1', at: at(9) })
          throw new Error('undo')
        })
        await expect(undone).rejects.toThrow('undo')
        expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(5) })).toBe(true)
      })
      expect(await stored()).toEqual(['evt_1 05 0'])
    })
  })

  test('is refused by the object within what as made, which the inbox does not know', async () => {
    const pool = openPg(database)
    const inbox = postgresInbox(pool, { as: (client) => ({ client }) })
    await inbox.once(RETAIN, async (tx) => {
      expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(1) })).toBe(true)
      await expect(inbox.isNewest(tx.client as never, { subject: 'evt_1', at: at(2) })).rejects.toThrow(
        /pass ctx.tx itself/,
      )
    })
  })

  test('is remembered for retentionSeconds in a process that has had no delivery', async () => {
    const pool = openPg(database)
    const inbox = postgresInbox(pool, { retentionSeconds: 90 * 86_400 })
    const client = await pool.connect()
    await client.query('BEGIN; CREATE TEMPORARY TABLE written ON COMMIT DROP AS SELECT 1')
    expect(await inbox.isNewest(client, { subject: 'put back', at: at(1) })).toBe(true)
    await client.query('COMMIT')
    client.release()
    const kept = await database.column(
      `SELECT expires_at > now() + interval '89 days' FROM ${TABLE} WHERE subject = 'put back'`,
    )
    expect(kept).toEqual([true])
  })
})
