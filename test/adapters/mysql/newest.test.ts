import type { Change } from 'tix-webhooks'
import { ddl, type MysqlInbox, mysqlInbox } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { MYSQL_INBOX_CLIENTS } from '../../support/mysql-clients.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { MYSQL2, POOLS } from './pools.js'

const DAY_MS = 86_400_000
const RETAIN = { key: null, retainMs: 7 * DAY_MS }
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`
const TABLE = 'tix_webhooks_inbox_newest'

onMysql('isNewest', () => {
  const database = testMysqlDatabase(ddl)
  const stored = (): Promise<unknown[]> =>
    database.column(
      `SELECT CONCAT(CAST(subject AS CHAR), ' ', SUBSTR(CAST(changed_at AS CHAR), 18, 2), ' ', \`rank\`) FROM ${TABLE} ORDER BY subject`,
    )

  beforeEach(async () => {
    for (const table of ['tix_webhooks_inbox', TABLE]) await database.query(`DELETE FROM ${table}`)
  })

  /** Asks in a transaction of its own, which is committed. */
  async function ask<Tx>(inbox: MysqlInbox<Tx>, change: Change): Promise<boolean> {
    let answer: boolean | undefined
    await inbox.once(RETAIN, async (tx) => {
      answer = await inbox.isNewest(tx, change)
    })
    return answer as boolean
  }

  describe.each(MYSQL_INBOX_CLIENTS)('over $name', (library) => {
    test('knows of a newer change that was committed after the handler first read', async () => {
      const client = library.open(database)
      const inbox = client.inbox()
      await ask(inbox, { subject: 'evt_1', at: at(3) })
      await inbox.once(RETAIN, async (tx) => {
        // The snapshot of REPEATABLE READ, the default, is of now.
        await client.run(tx, `SELECT COUNT(*) FROM ${TABLE}`)
        await ask(inbox, { subject: 'evt_1', at: at(6) })
        await ask(inbox, { subject: 'evt_2', at: at(6) })
        const list = ['evt_1', 'evt_2', 'evt_3'].map((subject) => ({ subject, at: at(5) }))
        expect(await inbox.isNewest(tx, list)).toEqual([false, false, true])
        expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(7) })).toBe(true)
      })
      expect(await stored()).toEqual(['evt_1 07 0', 'evt_2 06 0', 'evt_3 05 0'])
    })
  })

  test.each(POOLS)(
    'refuses a pool of $name instead of ctx.tx, and what is within what as made',
    async ({ open }) => {
      const pool = open(database)
      const inbox = mysqlInbox(pool, { as: (connection) => ({ connection }) })
      await expect(inbox.isNewest(pool as never, { subject: 'evt_1', at: at(1) })).rejects.toThrow(
        /^isNewest was not called in the transaction of the inbox/,
      )
      await inbox.once(RETAIN, async (tx) => {
        expect(await inbox.isNewest(tx, { subject: 'evt_1', at: at(1) })).toBe(true)
        await expect(inbox.isNewest(tx.connection as never, { subject: 'evt_1', at: at(2) })).rejects.toThrow(
          /pass ctx.tx itself/,
        )
      })
      expect(await stored()).toEqual(['evt_1 01 0'])
    },
  )

  test('purge without rights on its table deletes records alone, and warns once', async () => {
    const user = `u${database.name.slice(4)}`
    await database.query(`CREATE USER ${user} IDENTIFIED BY 'hunter2'`)
    onTestFinished(async () => void (await database.query(`DROP USER ${user}`)))
    for (const table of ['tix_webhooks_inbox', 'tix_webhooks_inbox_locks']) {
      await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${user}`)
    }
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warnings.mockRestore())
    const url = new URL(database.url)
    url.username = user
    url.password = 'hunter2'
    const inbox = mysqlInbox(MYSQL2.open({ url: url.href }))
    await inbox.once({ key: 'k', retainMs: 1 }, async () => {})
    while ((await inbox.purge()) === 0);
    await inbox.purge()
    expect(warnings.mock.calls).toEqual([
      [expect.stringMatching(/^tix-webhooks: the changes of isNewest past their retention are not deleted/)],
    ])
  })
})
