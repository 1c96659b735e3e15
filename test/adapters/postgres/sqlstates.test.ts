import { postgresStore } from 'tix-webhooks/postgres'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { onPostgres } from '../../support/on-servers.js'
import { openPg, STORE_CLIENTS, type StoreClient } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'

const CLAIM = { key: 'k', token: 't', leaseMs: 60_000, retainMs: 60_000 }

onPostgres('what a server can fail with', () => {
  const database = testDatabase()

  beforeEach(() => postgresStore(openPg(database)).migrate())
  afterEach(() => database.query('DROP TABLE IF EXISTS tix_webhooks; DROP FUNCTION IF EXISTS before_claim'))

  /** Has the server run this before it writes a record. */
  async function beforeClaim(body: string): Promise<void> {
    await database.query(
      `CREATE FUNCTION before_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$;
       CREATE TRIGGER before_claim BEFORE INSERT ON tix_webhooks FOR EACH ROW EXECUTE FUNCTION before_claim()`,
    )
  }

  const claim = async (client: StoreClient, settings: Record<string, string> = {}) =>
    client.open(database, { settings }).store().claim(CLAIM)

  /** Claims while another transaction holds the table. */
  async function claimLocked(client: StoreClient, settings: Record<string, string>): Promise<unknown> {
    const other = await openPg(database).connect()
    try {
      await other.query('BEGIN; LOCK TABLE tix_webhooks')
      return await claim(client, settings)
    } finally {
      await other.query('ROLLBACK')
      other.release()
    }
  }

  /** Claims with a lock that another transaction waits for, which holds the one that the claim needs next. */
  async function claimDeadlocked(client: StoreClient): Promise<unknown> {
    const { schema } = database
    const lock = (name: string): string => `pg_advisory_xact_lock(hashtext('${schema} ${name}'))`
    await beforeClaim(`PERFORM ${lock('a')}; PERFORM ${lock('b')};`)
    const other = await openPg(database, { settings: { deadlock_timeout: '1min' } }).connect()
    let waiting: Promise<unknown> = Promise.resolve()
    try {
      await other.query(`BEGIN; SELECT ${lock('b')}`)
      const claiming = claim(client, { deadlock_timeout: '1s' })
      claiming.catch(() => {})
      // This very lock: the tests of other files wait for theirs on the same server.
      const isWaiting = `
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND objid::bigint = hashtext('${schema} b')::bigint & 4294967295`
      while ((await database.query(isWaiting)).length === 0);
      waiting = other.query(`SELECT ${lock('a')}`)
      return await claiming
    } finally {
      await waiting
      await other.query('ROLLBACK')
      other.release()
    }
  }

  const CASES: [what: string, fail: (client: StoreClient) => Promise<unknown>, advice: RegExp][] = [
    [
      'a table that is missing',
      async (client) => {
        await database.query('DROP TABLE tix_webhooks')
        await claim(client)
      },
      /^The table "tix_webhooks" is missing: run store\.migrate\(\)/,
    ],
    [
      'a schema that is missing',
      (client) => client.open(database).store({ table: 'nowhere.hooks' }).migrate(),
      /^The schema of the table "nowhere"\."hooks" is missing/,
    ],
    [
      'lock_timeout',
      (client) => claimLocked(client, { lock_timeout: '50ms' }),
      /^A lock was not free within lock_timeout/,
    ],
    [
      'statement_timeout',
      (client) => claimLocked(client, { statement_timeout: '50ms' }),
      /^Postgres canceled the statement: it took longer than statement_timeout/,
    ],
    ['a deadlock', claimDeadlocked, /^Two transactions waited for each other/],
    [
      'a user without a connection left',
      async (client) => {
        const role = `${database.schema}_none`
        const url = new URL(database.url)
        await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p' CONNECTION LIMIT 0`)
        try {
          url.username = role
          url.password = 'p'
          await claim({
            ...client,
            open: (_, options) => client.open({ ...database, url: url.href }, options),
          })
        } finally {
          await database.query(`DROP ROLE ${role}`)
        }
      },
      /^Postgres has no connection left/,
    ],
  ]

  test.each(
    STORE_CLIENTS.flatMap((client) => CASES.map((one) => [one[0], client.name, client, one] as const)),
  )('%s, to a store over %s, is advised on', async (_, __, client, [, fail, advice]) => {
    const error: unknown = await fail(client).then(
      () => 'nothing failed',
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({ code: 'store_unavailable', message: expect.stringMatching(advice) })
    expect((error as Error).cause).toBeInstanceOf(Error)
  })
})
