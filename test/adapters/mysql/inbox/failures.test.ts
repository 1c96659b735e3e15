import type { JoinedInbox } from 'tix-webhooks'
import { ddl, mysqlFailures, mysqlInbox } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { failedDelivery } from '../../../support/failed-deliveries.js'
import { MYSQL_INBOX_CLIENTS } from '../../../support/mysql-clients.js'
import { testMysqlDatabase } from '../../../support/mysql-database.js'
import { onMysql } from '../../../support/on-servers.js'
import { MARIADB, MYSQL2, untilWaiting } from '../pools.js'

const DAY_MS = 86_400_000
const KEY = 'test/order.created/ord_1'
const REQUEST = { key: KEY, failureKey: KEY, retainMs: DAY_MS, runsParked: false, report: () => {} }
const HANDLED = { status: 'handled' }
const DUPLICATE = { status: 'duplicate' }
const failed = failedDelivery({ key: KEY })
const unexpected = (): Promise<void> => expect.fail('The work was called')

function joinedOf<Tx>(joined: JoinedInbox<Tx> | undefined): JoinedInbox<Tx> {
  if (joined === undefined) throw new Error('They are not joined')
  return joined
}

onMysql('an inbox joined with failures', () => {
  const database = testMysqlDatabase('CREATE TABLE effects (id VARCHAR(50))', ddl)

  /** The effects, records and failures. */
  async function state(): Promise<unknown> {
    const [row] = await database.query(`SELECT (SELECT COUNT(*) FROM effects) AS effects,
      (SELECT COUNT(*) FROM tix_webhooks_inbox) AS records, (SELECT COUNT(*) FROM tix_webhooks_failures) AS failures`)
    return row
  }

  beforeEach(async () => {
    for (const table of [
      'effects',
      'tix_webhooks_inbox',
      'tix_webhooks_inbox_newest',
      'tix_webhooks_failures',
    ])
      await database.query(`DELETE FROM ${table}`)
  })

  describe.each(MYSQL_INBOX_CLIENTS)('over $name', (library) => {
    function open(url = database.url) {
      const client = library.open({ ...database, url })
      const [inbox, failures] = [client.inbox(), client.failures()]
      const joined = joinedOf(inbox.joinFailures?.(failures))
      const effect = async (tx: unknown) => void (await client.run(tx, "INSERT INTO effects VALUES ('one')"))
      return { client, inbox, failures, joined, effect }
    }

    test('keeps and runs nothing while another failure of the event is being kept', async () => {
      const { joined, effect } = open()
      await joined.keep(failed)
      await using other = await database.connect()
      await other.query('START TRANSACTION')
      await other.query('UPDATE tix_webhooks_failures SET attempts = 5')
      // It holds the lock of the event, and waits for the failure.
      const keeping = joined.keep(failed)
      await untilWaiting(database, 'raw_body')
      // In one process, one is kept after the other.
      const another = open()
      expect(await another.joined.keep(failed)).toBe('in_flight')
      expect(await another.joined.once(REQUEST, unexpected)).toEqual({ status: 'in_flight' })
      await other.query('COMMIT')
      expect(await keeping).toBe('failing')
      expect(await database.column('SELECT attempts FROM tix_webhooks_failures')).toEqual([6])
      expect(await joined.once(REQUEST, effect)).toEqual(HANDLED)
      expect(await state()).toEqual({ effects: 1, records: 1, failures: 0 })
    })

    test('names the table that is missing, or to which it has no rights, and runs as without failures', async () => {
      const user = `u${Math.random().toString(36).slice(2)}`
      await database.query(`CREATE USER ${user} IDENTIFIED BY 'hunter2'`)
      onTestFinished(async () => void (await database.query(`DROP USER ${user}`)))
      for (const table of ['effects', 'tix_webhooks_inbox', 'tix_webhooks_inbox_locks']) {
        await database.query(`GRANT ALL ON ${table} TO ${user}`)
      }
      const url = new URL(database.url)
      url.username = user
      url.password = 'hunter2'
      const noRights = {
        code: 'store_unavailable',
        message: expect.stringMatching(
          /has no rights on .*`tix_webhooks_failures`: .*SELECT, INSERT, UPDATE and DELETE/,
        ),
      }
      const { failures, joined, effect } = open(url.href)
      const report = vi.fn()
      expect(await joined.once({ ...REQUEST, key: 'n/no-rights', report }, effect)).toEqual(HANDLED)
      expect(await joined.once({ ...REQUEST, key: 'n/no-rights', report }, unexpected)).toEqual(DUPLICATE)
      expect(report).toHaveBeenCalledWith(expect.objectContaining(noRights))
      await expect(failures.check()).rejects.toMatchObject(noRights)
      await expect(joined.keep(failed)).rejects.toMatchObject(noRights)

      await database.query('ALTER TABLE tix_webhooks_failures RENAME TO moved')
      onTestFinished(
        async () => void (await database.query('ALTER TABLE moved RENAME TO tix_webhooks_failures')),
      )
      const missing = {
        code: 'store_unavailable',
        message: expect.stringMatching(
          /^The table .*`tix_webhooks_failures` is missing: run failures\.migrate\(\)/,
        ),
      }
      const other = open()
      report.mockClear()
      expect(await other.joined.once({ ...REQUEST, key: 'n/missing', report }, other.effect)).toEqual(HANDLED)
      expect(report.mock.calls).toEqual([[expect.objectContaining(missing)]])
      for (const call of [
        () => other.joined.keep(failed),
        () => other.failures.check(),
        () => other.failures.list(),
        () => other.failures.groups(),
        () => other.failures.count(),
      ]) {
        await expect(call()).rejects.toMatchObject(missing)
      }
    })
  })

  test('is joined only with failures of its own pool', () => {
    const [pool, other] = [MYSQL2.open(database), MARIADB.open(database)]
    const inbox = mysqlInbox(pool, { as: (connection) => connection })
    expect(inbox.joinFailures?.(mysqlFailures(pool))).toBeDefined()
    expect(inbox.joinFailures?.(mysqlFailures(MYSQL2.open(database)))).toBeUndefined()
    expect(inbox.joinFailures?.(mysqlFailures(other))).toBeUndefined()
    expect(inbox.joinFailures?.({} as never)).toBeUndefined()
    expect(mysqlInbox(other).joinFailures?.(mysqlFailures(other))).toBeDefined()
  })
})
