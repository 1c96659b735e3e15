import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { ddl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { onPostgres } from '../../support/on-servers.js'
import { hasPgBouncer, startPgBouncer } from '../../support/pgbouncer-server.js'
import { INBOX_CLIENTS, openPg, openPostgresJs } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { receiving } from '../../support/receiving.js'

const CLIENTS = [
  ['pg', openPg],
  ['postgres.js', openPostgresJs],
] as const

/** The outcome of a delivery, and what the check says. */
async function judged(part: ReturnType<typeof partsOf>[keyof ReturnType<typeof partsOf>]) {
  const check = await part.check().then(
    () => 'ok',
    (error: Error) => error.message,
  )
  return { outcome: await outcomeWith(part), check }
}

async function outcomeWith(part: object): Promise<string> {
  const { send } = receiving<unknown>({
    ...('once' in part ? { inbox: part as never } : { store: part as never }),
    namespace: 'n',
    on: { 'order.created': () => {} },
  })
  const id = randomBytes(6).toString('hex')
  return (await send(orderCreated({ id }))).outcome
}

const partsOf = (pool: Pool) => ({
  store: postgresStore(pool),
  inbox: postgresInbox(pool),
})
const PARTS = ['store', 'inbox'] as const

onPostgres.each(CLIENTS)('the check over %s', (_, open) => {
  const database = testDatabase(ddl)
  const table = 'tix_webhooks_events'

  /** For a user that owns nothing, until the test ends. */
  async function openAs(sql: (table: string, role: string) => string) {
    const role = `${database.schema}_${randomBytes(3).toString('hex')}`
    await database.query(
      `CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${database.schema} TO ${role}; GRANT ALL ON ${table} TO ${role}`,
    )
    await database.query(sql(table, role))
    onTestFinished(async () => {
      await database.query(
        `ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY; DROP TRIGGER IF EXISTS t ON ${table}; DROP POLICY IF EXISTS p ON ${table}; DROP POLICY IF EXISTS q ON ${table}; DROP TABLE IF EXISTS ${table}_child`,
      )
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
    })
    return partsOf(open(database, { settings: { role } }) as Pool)
  }
  const trigger =
    (body: string, kind = 'TRIGGER t BEFORE INSERT', when = '') =>
    (table: string) =>
      `CREATE OR REPLACE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
     CREATE ${kind} ON ${table} ${when} FOR EACH ROW EXECUTE FUNCTION refused()`
  const row = (policies: (table: string) => string) => (table: string) =>
    `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY; ${policies(table)}`

  test.each<[string, (table: string) => string, RegExp, outcome?: string]>([
    ['row-level security without a policy', row(() => ''), /^Row-level security on/],
    ['a trigger that refuses', trigger("RAISE EXCEPTION 'no';"), /^Postgres failed with P0001/],
    [
      'a trigger that refuses at the commit',
      trigger("RAISE EXCEPTION 'no';", 'CONSTRAINT TRIGGER t AFTER INSERT', 'DEFERRABLE INITIALLY DEFERRED'),
      /^Postgres failed with P0001/,
    ],
    ['a trigger that drops the row', trigger('RETURN NULL;'), /^A row that was written/, 'in_flight'],
    [
      'a trigger that moves the row to a child table',
      (table) =>
        `CREATE TABLE ${table}_child (LIKE ${table} INCLUDING ALL) INHERITS (${table});
         GRANT ALL ON ${table}_child TO PUBLIC;
         ${trigger("EXECUTE format('INSERT INTO %I_child SELECT $1.*', TG_TABLE_NAME) USING NEW; RETURN NULL;")(table)}`,
      /^A row that was written/,
      'in_flight',
    ],
  ])('says what a delivery meets: %s', async (_, sql, message, expected = 'unavailable') => {
    const parts = await openAs(sql)
    for (const name of PARTS) {
      const { outcome, check } = await judged(parts[name])
      expect({ name, outcome }).toEqual({ name, outcome: expected })
      expect(check).toMatch(message)
    }
  })

  test('says what the end of a delivery meets, where its beginning is written', async () => {
    const policies = (table: string) =>
      `CREATE POLICY p ON ${table} FOR INSERT WITH CHECK (true); CREATE POLICY q ON ${table} FOR SELECT USING (true)`
    const { store, inbox } = await openAs(row(policies))
    await expect(store.check()).rejects.toThrow(/^Row-level security on/)
    expect(await judged(inbox)).toEqual({ outcome: 'handled', check: 'ok' })
  })

  test('passes with what a delivery passes with', async () => {
    const parts = partsOf(open(database) as Pool)
    for (const name of PARTS) expect(await judged(parts[name])).toEqual({ outcome: 'handled', check: 'ok' })
  })

  describe.skipIf(!hasPgBouncer())('through a PgBouncer', () => {
    test.each([
      ['transaction', PARTS],
      ['statement', []],
    ] as const)('in %s mode', async (pool_mode, usable) => {
      const server = await startPgBouncer(new URL(database.url), {
        settings: { pool_mode, ignore_startup_parameters: 'options' },
      })
      onTestFinished(() => server.stop())
      const pool = open(database, { port: server.port }) as Pool
      // A purge at the same time would be on another connection, without the statements that postgres.js has prepared.
      const place = { table: `${database.schema}.${table}`, purgeEverySeconds: false } as const
      const parts = {
        store: postgresStore(pool, place),
        inbox: postgresInbox(pool, place),
      }
      // Several times: postgres.js throws the error that ended a connection into the next call on it.
      for (const name of [...PARTS, ...PARTS, ...PARTS, ...PARTS]) {
        const { outcome, check } = await judged(parts[name])
        if ((usable as readonly string[]).includes(name))
          expect({ name, outcome, check }).toEqual({ name, outcome: 'handled', check: 'ok' })
        else {
          if (name === 'inbox') expect(outcome).toBe('unavailable')
          expect(check).toMatch(/PgBouncer.*statement mode.*set its pool_mode to transaction/)
        }
      }
      const migrated = await parts.store.migrate().catch((error: Error) => error.message)
      if (pool_mode === 'transaction') expect(migrated).toBeUndefined()
      else expect(migrated).toMatch(/statement mode.*set its pool_mode to transaction/)
    })
  })
})

onPostgres('the check', () => {
  const database = testDatabase(ddl)

  // Some libraries cannot roll back without an error.
  test.each(INBOX_CLIENTS)('keeps nothing over $name', async (library) => {
    const client = library.open(database)
    await client.inbox().check()
    expect(await database.column('SELECT event_key FROM tix_webhooks_events')).toEqual([])
  })
})
