import { isWebhookError } from 'tix-webhooks'
import { ddl, postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, describe, expect, test } from 'vitest'
import { failedDelivery } from '../../support/failed-deliveries.js'
import { onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, openPostgresJs, STORE_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'

const CLAIM = { key: 'k', token: 't', leaseMs: 60_000, retainMs: 60_000 }
const ONCE = { key: 'k', retainMs: 60_000 }

interface Migrating {
  readonly ddl: string
  migrate(): Promise<void>
}

onPostgres('migrate', () => {
  const database = testDatabase()
  const tables = (): Promise<unknown[]> =>
    database.column('SELECT tablename::text FROM pg_tables WHERE schemaname = $1 ORDER BY 1', [
      database.schema,
    ])

  beforeEach(async () => {
    for (const table of await tables()) await database.query(`DROP TABLE ${table}`)
  })

  async function failureOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
    const error: unknown = await work.catch((thrown: unknown) => thrown)
    if (!isWebhookError(error)) throw new Error('It was no error of ours', { cause: error })
    return error
  }

  /** All tables that `migrate` makes, of which `table` is the first. */
  const madeWith = (table: string): string[] =>
    table === 'tix_webhooks_inbox' ? [table, 'tix_webhooks_inbox_newest'] : [table]

  const INDEXES: Readonly<Record<string, string[]>> = {
    tix_webhooks: ['tix_webhooks_pkey', 'tix_webhooks_purge_after'],
    tix_webhooks_inbox: [
      'tix_webhooks_inbox_expires_at',
      'tix_webhooks_inbox_newest_expires',
      'tix_webhooks_inbox_newest_pkey',
      'tix_webhooks_inbox_pkey',
    ],
    tix_webhooks_failures: [
      'tix_webhooks_failures_event_id',
      'tix_webhooks_failures_last_at',
      'tix_webhooks_failures_order_id',
      'tix_webhooks_failures_pkey',
    ],
  }
  const LACKING: Readonly<Record<string, string>> = {
    tix_webhooks: 'state, attempt, token, lease_until, purge_after',
    tix_webhooks_inbox: 'handled_at',
    tix_webhooks_failures:
      'namespace, account, kind, event_id, order_id, signed_at, secret_index, cause, code, message, state, first_at, last_at, attempts, replays, last_replayed_at, raw_body',
  }
  /** Writes a row with the key `k`. */
  const WRITING: Readonly<Record<string, () => Promise<unknown>>> = {
    tix_webhooks: () => postgresStore(openPg(database)).claim(CLAIM),
    tix_webhooks_inbox: () => postgresInbox(openPg(database)).once(ONCE, async () => {}),
    tix_webhooks_failures: () => postgresFailures(openPg(database)).keep(failedDelivery({ key: 'k' })),
  }

  const all: [string, string, () => Migrating][] = [
    ...STORE_CLIENTS.map(({ name, open }): [string, string, () => Migrating] => [
      `the store over ${name}`,
      'tix_webhooks',
      () => open(database).store(),
    ]),
    ...INBOX_CLIENTS.map(({ name, open }): [string, string, () => Migrating] => [
      `the inbox over ${name}`,
      'tix_webhooks_inbox',
      () => open(database).inbox(),
    ]),
    ...INBOX_CLIENTS.slice(0, 1).map(({ name, open }): [string, string, () => Migrating] => [
      `the failures over ${name}`,
      'tix_webhooks_failures',
      () => open(database).failures(),
    ]),
  ]

  describe.each(all)('of %s', (_, table, open) => {
    test('makes its tables once, and keeps what is in it', async () => {
      const { migrate } = open()
      await migrate()
      expect(await tables()).toEqual(madeWith(table))
      await WRITING[table]?.()
      await migrate()
      expect(await database.column(`SELECT key FROM ${table}`)).toEqual(['k'])
      expect(
        await database.column('SELECT indexname::text FROM pg_indexes WHERE schemaname = $1 ORDER BY 1', [
          database.schema,
        ]),
      ).toEqual(INDEXES[table])
    })

    test('can run eight times at once', async () => {
      const deploys = Array.from({ length: 8 }, () => open().migrate())
      expect((await Promise.allSettled(deploys)).map(({ status }) => status)).toEqual(
        Array(8).fill('fulfilled'),
      )
      expect(await tables()).toEqual(madeWith(table))
    })

    test('says which columns a table that is there lacks, and leaves it as it is', async () => {
      await database.query(`CREATE TABLE ${table} (key text PRIMARY KEY, expires_at timestamptz, note text)`)
      const { code, message } = await failureOf(open().migrate())
      expect(code).toBe('store_unavailable')
      expect(message).toContain(
        `There is a table "${database.schema}"."${table}" in which these columns are missing or of another kind: ${LACKING[table]}. `,
      )
      expect(message).toMatch(/Rename it, or choose another name with the table option/)
      expect(
        await database.column(
          'SELECT attname::text FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum',
          [table],
        ),
      ).toEqual(['key', 'expires_at', 'note'])
    })
  })

  // The snapshot of such a transaction is taken before it has waited for the others.
  test.each(['repeatable read', 'serializable'])(
    'can run eight times at once where %s is the default',
    async (isolation) => {
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

  test('the exported ddl makes all tables, as their owners would', async () => {
    await database.query(ddl)
    expect(await tables()).toEqual([
      'tix_webhooks',
      'tix_webhooks_failures',
      'tix_webhooks_inbox',
      'tix_webhooks_inbox_newest',
    ])
    const store = postgresStore(openPg(database))
    const inbox = postgresInbox(openPg(database))
    const failures = postgresFailures(openPg(database))
    expect(`${store.ddl}\n${inbox.ddl}\n${failures.ddl}`).toBe(ddl)
    expect(await store.claim(CLAIM)).toEqual({ status: 'claimed', attempt: 1 })
    expect(await inbox.once(ONCE, async () => {})).toEqual({ status: 'handled' })
    // A migration tool may run it again.
    await database.query(ddl)
    expect(await database.column('SELECT key FROM tix_webhooks')).toEqual(['k'])
  })

  test('the ddl of a table of another name has that name, and so have its indexes', async () => {
    const pool = openPg(database)
    const table = `${database.schema}.Other`
    await database.query(postgresStore(pool, { table }).ddl)
    await database.query(postgresInbox(pool, { table: `${table}_inbox` }).ddl)
    expect(await tables()).toEqual(['Other', 'Other_inbox', 'Other_inbox_newest'])
    await database.query('DROP TABLE "Other", "Other_inbox", "Other_inbox_newest"')
  })

  test('cuts no name of an inbox with the longest name of a table', async () => {
    const notices: unknown[] = []
    const sql = openPostgresJs(database, {}, { onnotice: (notice) => notices.push(notice) })
    const table = 'i'.repeat(48)
    await postgresInbox(sql, { table }).migrate()
    expect(await tables()).toEqual([table, `${table}_newest`])
    expect(notices).toEqual([])
  })

  test.each([
    [
      'a DEFERRABLE key',
      'ALTER TABLE %t DROP CONSTRAINT %t_pkey, ADD PRIMARY KEY (key) DEFERRABLE',
      /table "\w+"\."%t" is DEFERRABLE.* Drop that constraint, and add a PRIMARY KEY without/,
    ],
    [
      'another unique index that is DEFERRABLE',
      'ALTER TABLE %t ADD UNIQUE (key) DEFERRABLE INITIALLY DEFERRED',
      /table "\w+"\."%t" is DEFERRABLE/,
    ],
    [
      'no log, which a crash of the server empties',
      'ALTER TABLE %t SET UNLOGGED',
      /ALTER TABLE "\w+"\."%t" SET LOGGED/,
    ],
  ])('refuses a table with %s', async (_, change, message) => {
    await database.query(ddl)
    const pool = openPg(database)
    const [store, inbox] = [postgresStore(pool), postgresInbox(pool)]
    for (const [table, key, { migrate }] of [
      ['tix_webhooks', 'key', store],
      ['tix_webhooks_inbox', 'key', inbox],
      ['tix_webhooks_inbox_newest', 'subject', inbox],
    ] as const) {
      await migrate()
      await database.query(change.replaceAll('%t', table).replace('(key)', `(${key})`))
      const failure = await failureOf(migrate())
      expect(failure.code).toBe('store_unavailable')
      expect(failure.message).toMatch(new RegExp(message.source.replace('%t', table)))
      await database.query(`DROP TABLE ${table}`)
    }
  })
})
