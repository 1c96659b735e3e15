import type { JoinedInbox } from 'tix-webhooks'
import { ddl as mysqlDdl, mysqlFailures, mysqlInbox } from 'tix-webhooks/mysql'
import { ddl as postgresDdl, postgresFailures, postgresInbox } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql, onPostgres } from '../../support/on-servers.js'
import { openPg, openPostgresJs } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { MARIADB, MYSQL2 } from '../mysql/pools.js'
import { type Client, SERVERS } from './servers.js'

const KEY = 'test/order.created/ord_1'
const REQUEST = { key: KEY, failureKey: KEY, retainMs: 86_400_000, runsParked: false, report: () => {} }
const HANDLED = { status: 'handled' }
const failed = failedDelivery({ key: KEY })
const unexpected = (): Promise<void> => expect.fail('The work was called')

const ROWS = SERVERS.flatMap(({ name, describe, clients, prepare }) =>
  clients.flatMap((client) =>
    (name === 'postgres' ? ['read committed', 'serializable'] : ['the default']).map((isolation) => ({
      name: `${name} over ${client} at ${isolation}`,
      describe,
      client,
      isolation,
      prepare,
    })),
  ),
)

for (const { name, describe, client, isolation, prepare } of ROWS) {
  describe(`an inbox joined with failures, on ${name}`, () => {
    const database = prepare('CREATE TABLE effects (id VARCHAR(50))')
    const open = () => joinedOf(database.open(client, { isolation }))

    beforeEach(async () => {
      for (const table of ['effects', 'tix_webhooks_inbox', 'tix_webhooks_failures'])
        await database.query(`DELETE FROM ${table}`)
    })

    function joinedOf(client: Client) {
      const failures = client.failures()
      const joined = client.inbox().joinFailures?.(failures) as JoinedInbox<unknown>
      const effect = async (tx: unknown) => void (await client.run(tx, "INSERT INTO effects VALUES ('one')"))
      return { failures, joined, effect }
    }

    test('keeps and runs nothing while another failure of the event is being kept', async () => {
      const { joined, effect } = open()
      await joined.keep(failed)
      const other = await database.connect()
      await other.query('START TRANSACTION')
      await other.query('UPDATE tix_webhooks_failures SET attempts = 5')
      // It holds the lock of the event, and waits for the failure.
      const keeping = joined.keep(failed)
      await database.untilWaiting('raw_body')
      // In one process, one is kept after the other.
      const another = open()
      expect(await another.joined.keep(failed)).toBe('in_flight')
      expect(await another.joined.once(REQUEST, unexpected)).toEqual({ status: 'in_flight' })
      await other.query('COMMIT')
      expect(await keeping).toBe('failing')
      expect((await database.column('SELECT attempts FROM tix_webhooks_failures')).map(Number)).toEqual([6])
      expect(await joined.once(REQUEST, effect)).toEqual(HANDLED)
      const left = ['effects', 'tix_webhooks_inbox', 'tix_webhooks_failures'].map(async (table) =>
        Number(await database.column(`SELECT COUNT(*) FROM ${table}`)),
      )
      expect(await Promise.all(left)).toEqual([1, 1, 0])
    })

    test('keeps a failure without the inbox too, after one that is being kept', async () => {
      const { failures } = open()
      await failures.keep(failed)
      const other = await database.connect()
      await other.query('START TRANSACTION')
      await other.query('UPDATE tix_webhooks_failures SET attempts = 5')
      const keeping = failures.keep(failed)
      await database.untilWaiting('raw_body')
      await other.query('COMMIT')
      expect(await keeping).toBe('failing')
      expect(await failures.get(KEY)).toMatchObject({ attempts: 6 })
    })

    test('names the table that is missing, or to which it has no rights, and runs as without failures', async () => {
      async function expectWithout(client: Client, key: string, message: RegExp): Promise<void> {
        const { failures, joined, effect } = joinedOf(client)
        const unusable = { code: 'store_unavailable', message: expect.stringMatching(message) }
        const report = vi.fn()
        const request = { ...REQUEST, key, report }
        expect(await joined.once(request, effect)).toEqual(HANDLED)
        expect(await joined.once(request, unexpected)).toEqual({ status: 'duplicate' })
        expect(report).toHaveBeenCalledWith(expect.objectContaining(unusable))
        for (const call of [
          () => joined.keep(failed),
          () => failures.check(),
          () => failures.list(),
          () => failures.groups(),
          () => failures.count(),
        ]) {
          await expect(call()).rejects.toMatchObject(unusable)
        }
      }
      const restricted = await database.openWithRights(client, ['effects', 'tix_webhooks_inbox'])
      const noRights = /has no rights on .*tix_webhooks_failures["`]: .*SELECT, INSERT, UPDATE and DELETE/
      await expectWithout(restricted, 'n/no-rights', noRights)
      await database.query('ALTER TABLE tix_webhooks_failures RENAME TO moved')
      onTestFinished(
        async () => void (await database.query('ALTER TABLE moved RENAME TO tix_webhooks_failures')),
      )
      const missing = /^The table .*tix_webhooks_failures["`] is missing: run failures\.migrate\(\)/
      await expectWithout(database.open(client, { isolation }), 'n/missing', missing)
    })
  })
}

onPostgres('an inbox of Postgres', () => {
  const database = testDatabase(postgresDdl)

  test('joins only failures of its own pool', () => {
    const [pool, sql] = [openPg(database), openPostgresJs(database)]
    const inbox = postgresInbox(pool, { as: (client) => client })
    expect(inbox.joinFailures?.(postgresFailures(pool))).toBeDefined()
    for (const other of [postgresFailures(openPg(database)), postgresFailures(sql), {}]) {
      expect(inbox.joinFailures?.(other as never)).toBeUndefined()
    }
    expect(postgresInbox(sql).joinFailures?.(postgresFailures(sql))).toBeDefined()
  })
})

onMysql('an inbox of MySQL', () => {
  const database = testMysqlDatabase(mysqlDdl)

  test('joins only failures of its own pool', () => {
    const [pool, other] = [MYSQL2.open(database), MARIADB.open(database)]
    const inbox = mysqlInbox(pool, { as: (connection) => connection })
    expect(inbox.joinFailures?.(mysqlFailures(pool))).toBeDefined()
    for (const failures of [mysqlFailures(MYSQL2.open(database)), mysqlFailures(other), {}]) {
      expect(inbox.joinFailures?.(failures as never)).toBeUndefined()
    }
    expect(mysqlInbox(other).joinFailures?.(mysqlFailures(other))).toBeDefined()
  })
})
