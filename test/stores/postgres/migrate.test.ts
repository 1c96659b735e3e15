import { ddl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { atOnce } from '../../support/at-once.js'
import { onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, openPostgresJs, STORE_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { expectUnavailable } from '../../support/rejections.js'

const TABLES = ['tix_webhooks_events', 'tix_webhooks_events_newest']

onPostgres('the tables of Postgres', () => {
  const database = testDatabase()
  beforeEach(async () => {
    await database.query(`DROP TABLE IF EXISTS ${TABLES}`)
    await database.query(ddl)
  })

  // The snapshot of such a transaction is taken before it has waited for the others.
  test.each(['repeatable read', 'serializable'])(
    'are made by eight deploys at once where %s is the default',
    async (isolation) => {
      await database.query(`DROP TABLE ${TABLES}`)
      const settings = { default_transaction_isolation: isolation }
      const deploys = STORE_CLIENTS.flatMap((library) =>
        Array.from({ length: 4 }, () => library.open(database, { settings }).store().migrate()),
      )
      const failures = (await Promise.allSettled(deploys)).flatMap((deploy) =>
        deploy.status === 'rejected' ? String(deploy.reason.message) : [],
      )
      expect(failures).toEqual([])
    },
  )

  test('of an inbox with the longest name have their whole names', async () => {
    const notices: unknown[] = []
    const sql = openPostgresJs(database, {}, { onnotice: (notice) => notices.push(notice) })
    const table = 'i'.repeat(48)
    await postgresInbox(sql, { table }).migrate()
    await database.query(`DROP TABLE ${table}, ${table}_newest`)
    expect(notices).toEqual([])
  })

  test('are refused with a DEFERRABLE key', async () => {
    const pool = openPg(database)
    const [store, inbox] = [postgresStore(pool), postgresInbox(pool)]
    for (const [table, key, { migrate }] of [
      ['tix_webhooks_events', 'event_key', store],
      ['tix_webhooks_events', 'event_key', inbox],
      ['tix_webhooks_events_newest', 'subject', inbox],
    ] as const) {
      await migrate()
      await database.query(
        `ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey, ADD PRIMARY KEY (${key}) DEFERRABLE`,
      )
      await expectUnavailable(migrate(), new RegExp(`of another kind: ${key}\\.`))
      await database.query(`DROP TABLE ${table}`)
    }
  })

  test('are checked for less than a probe waits, so that no statement stays on the server', async () => {
    const holding = await openPg(database, { max: 1 }).connect()
    onTestFinished(() => holding.release())
    await holding.query(`BEGIN; LOCK TABLE ${TABLES} IN ACCESS EXCLUSIVE MODE`)
    const all = [
      ...STORE_CLIENTS.map(({ name, open }) => ({ name, part: open(database).store() })),
      ...INBOX_CLIENTS.map(({ name, open }) => ({ name, part: open(database).inbox() })),
    ]
    await atOnce(all, ({ part }) =>
      expectUnavailable(
        Promise.resolve(part.check()),
        /^A lock was not free within lock_timeout: does a migration/,
      ),
    )
    await holding.query('ROLLBACK')
  })
})
