import type { Pool } from 'pg'
import { isWebhookError } from 'tix-webhooks'
import { ddl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, describe, expect, test } from 'vitest'
import { onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, openPostgresJs } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'

const HOUR_MS = 3_600_000
const once = (key: string) => ({ key, retainMs: HOUR_MS })
const claimOf = (token: string) => ({ key: 'k', token, leaseMs: HOUR_MS, retainMs: HOUR_MS })
const TABLES = ['tix_webhooks_events', 'tix_webhooks_events_newest']

/** Its tables have the same names as ours, as those of an app with a schema for each tenant. */
onPostgres('a search_path that changes', () => {
  const database = testDatabase(ddl, 'CREATE TABLE effects (id text)')
  const tenants = testDatabase(ddl)

  beforeEach(async () => {
    await database.query(`TRUNCATE effects, ${TABLES}`)
    await tenants.query(`TRUNCATE ${TABLES}`)
  })

  describe.each(INBOX_CLIENTS)('by a handler over $name', (library) => {
    test('has an event run once, in the tables that the inbox used first', async () => {
      const client = library.open(database, { max: 1 })
      const inbox = client.inbox()
      const at = (second: number): string => `2026-11-22T10:00:0${second}Z`
      const answers: unknown[] = []
      for (const key of ['one', 'one', 'two']) {
        const { status } = await inbox.once(once(key), async (tx) => {
          await client.run(tx, `SET search_path = ${tenants.schema}`)
          await client.run(tx, `INSERT INTO ${database.schema}.effects VALUES ('${key}')`)
          answers.push(await inbox.recordIfNewest(tx, { subject: 's', at: at(key === 'one' ? 2 : 1) }))
        })
        answers.push(status)
      }
      expect(answers).toEqual([true, 'handled', 'duplicate', false, 'handled'])
      expect(await database.column('SELECT id FROM effects ORDER BY id')).toEqual(['one', 'two'])
      await database.query('UPDATE tix_webhooks_events SET expires_at = 1')
      await database.query('UPDATE tix_webhooks_events_newest SET expires_at = 1')
      await tenants.query("INSERT INTO tix_webhooks_events VALUES ('theirs', 'handled', '', 1, 0, 1, 1)")
      expect(await inbox.purge()).toBe(3)
      await inbox.migrate()
      // Made when the connection has the other search_path.
      expect(await client.inbox().once(once('three'), async () => {})).toEqual({ status: 'handled' })
      expect(await database.column('SELECT event_key FROM tix_webhooks_events')).toEqual(['three'])
    })

    test('does not count before there is a table: it is asked for again', async () => {
      const client = library.open(database, { max: 1 })
      const table = `late_${library.name.replaceAll(/\W/g, '_')}`
      const inbox = client.inbox({ table })
      for (const key of ['once', 'again']) {
        const error: unknown = await inbox.once(once(key), async () => {}).catch((thrown: unknown) => thrown)
        expect(isWebhookError(error) && error.message).toMatch(
          `The table "${table}" is missing: run inbox.migrate()`,
        )
      }
      await inbox.migrate()
      expect(
        await inbox.once(once('k'), async (tx) => void (await client.run(tx, 'SET search_path = nowhere'))),
      ).toEqual({ status: 'handled' })
      expect(await inbox.once(once('k'), async () => {})).toEqual({ status: 'duplicate' })
    })
  })

  test.each([openPg, openPostgresJs])(
    'between the calls of a store does not let an event run twice: %o',
    async (open) => {
      const pool = open(database, { max: 1 }) as Pool
      const store = postgresStore(pool)
      const sql = `SET search_path = ${tenants.schema}`
      expect(await store.claim(claimOf('a'))).toEqual({ status: 'claimed', attempt: 1 })
      await ('unsafe' in pool ? (pool.unsafe as (text: string) => unknown)(sql) : pool.query(sql))
      expect(await store.claim(claimOf('b'))).toMatchObject({ status: 'in_flight' })
      expect(await store.complete(claimOf('a'), HOUR_MS)).toBe(true)
      expect(await store.claim(claimOf('b'))).toEqual({ status: 'completed' })
      await store.migrate()
      await tenants.query('UPDATE tix_webhooks_events SET expires_at = 1')
      expect(await store.purge()).toBe(0)
      expect(await tenants.column('SELECT count(*)::int FROM tix_webhooks_events')).toEqual([0])
    },
  )

  test('finds a schema whose name needs quotes, and reads it however the client converts text', async () => {
    const name = `${database.schema} O'Brien "ü"`
    const quoted = `"${name.replaceAll('"', '""')}"`
    const pool: Pool = openPg(database, { max: 1 })
    await pool.query(`CREATE SCHEMA ${quoted}; SET search_path = ${quoted}`)
    try {
      const [store, inbox] = [postgresStore(pool), postgresInbox(pool)]
      for (const { migrate } of [store, inbox]) await migrate()
      await store.claim(claimOf('a'))
      await inbox.once(
        once('a'),
        async (tx) => void (await inbox.recordIfNewest(tx, { subject: 's', at: new Date() })),
      )
      await pool.query(`SET search_path = ${tenants.schema}`)
      expect(await store.claim(claimOf('b'))).toMatchObject({ status: 'in_flight' })
      expect(await inbox.once(once('a'), async () => {})).toEqual({ status: 'duplicate' })
      expect(await inbox.purge()).toBe(0)
    } finally {
      await pool.query(`DROP SCHEMA ${quoted} CASCADE`)
    }
  })
})
