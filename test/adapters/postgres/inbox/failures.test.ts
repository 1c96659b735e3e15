import { inspect } from 'node:util'
import type { JoinedInbox } from 'tix-webhooks'
import { ddl, postgresFailures, postgresInbox } from 'tix-webhooks/postgres'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { failedDelivery } from '../../../support/failed-deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, openPostgresJs } from '../../../support/postgres-clients.js'
import { type TestDatabase, testDatabase } from '../../../support/postgres-database.js'
import { startProxy } from '../../../support/tcp-proxy.js'

const DAY_MS = 86_400_000
const KEY = 'test/order.created/ord_1'
const REQUEST = { key: KEY, failureKey: KEY, retainMs: DAY_MS, runsParked: false, report: () => {} }
const HANDLED = { status: 'handled' }
const DUPLICATE = { status: 'duplicate' }
const failed = failedDelivery({ key: KEY })
const parking = failedDelivery({ key: KEY, parkAfter: { attempts: 1 } })
const unexpected = (): Promise<void> => expect.fail('The work was called')

function joinedOf<Tx>(joined: JoinedInbox<Tx> | undefined): JoinedInbox<Tx> {
  if (joined === undefined) throw new Error('They are not joined')
  return joined
}

/** The effects, records and failures. */
async function stateOf(database: TestDatabase): Promise<object> {
  const [state] = await database.query(`SELECT
    (SELECT count(*)::int FROM effects) AS effects,
    (SELECT count(*)::int FROM tix_webhooks_inbox) AS records,
    (SELECT count(*)::int FROM tix_webhooks_failures) AS failures`)
  return state as object
}

onPostgres.each(INBOX_CLIENTS)('an inbox joined with failures over $name', (library) => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const state = () => stateOf(database)
  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_inbox, tix_webhooks_failures'))

  function open(settings: Readonly<Record<string, string>> = {}, port?: number) {
    const client = library.open(database, { settings, ...(port === undefined ? {} : { port }) })
    const [inbox, failures] = [client.inbox(), client.failures()]
    const joined = joinedOf(inbox.joinFailures?.(failures))
    const effect = (tx: unknown) => client.run(tx, "INSERT INTO effects VALUES ('one')")
    return { client, inbox, failures, joined, effect: async (tx: unknown) => void (await effect(tx)) }
  }

  test('removes the failure at the beginning once a handler has taken a role without rights on it', async () => {
    const tenant = `${database.schema}_tenant`
    await database.query(`CREATE ROLE ${tenant}; GRANT INSERT ON effects TO ${tenant};
      GRANT USAGE ON SCHEMA ${database.schema} TO ${tenant}`)
    onTestFinished(async () => {
      await database.query(`DROP OWNED BY ${tenant}; DROP ROLE ${tenant}`)
    })
    const { client, joined, effect } = open()
    const asTenant = async (tx: unknown) => {
      await client.run(tx, `SET LOCAL ROLE ${tenant}`)
      await effect(tx)
    }
    await joined.keep(failed)
    await expect(joined.once(REQUEST, asTenant)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(await state()).toEqual({ effects: 0, records: 0, failures: 1 })
    const fails = joined.once(REQUEST, async () => {
      throw new Error('the bug')
    })
    await expect(fails).rejects.toThrow('the bug')
    expect(await state()).toEqual({ effects: 0, records: 0, failures: 1 })
    expect(await joined.once(REQUEST, asTenant)).toEqual(HANDLED)
    expect(await state()).toEqual({ effects: 1, records: 1, failures: 0 })
    // And what is parked still runs for a replay alone.
    for (const [key, failureKey] of [
      ['test/other', 'test/other'],
      [null, 'test/sha256:0'],
    ] as const) {
      const other = { ...REQUEST, key, failureKey }
      expect(await joined.keep({ ...parking, key: failureKey })).toBe('parked')
      expect(await joined.once(other, unexpected)).toEqual({ status: 'parked' })
      expect(await joined.once({ ...other, runsParked: true }, asTenant)).toEqual(HANDLED)
      expect(await state()).toMatchObject({ failures: 0 })
    }
  })

  test('keeps and runs nothing while another failure of the event is being kept', async () => {
    const { joined, effect } = open()
    // As a failure that is being kept: it has the lock, and has not committed.
    const keeping = await openPg(database).connect()
    onTestFinished(() => keeping.release())
    await keeping.query(
      `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('${KEY}', 'tix_webhooks_inbox'::regclass::oid::bigint))`,
    )
    expect(await joined.once(REQUEST, unexpected)).toEqual({ status: 'in_flight' })
    expect(await joined.keep(failed)).toBe('in_flight')
    await keeping.query('COMMIT')
    expect(await joined.once(REQUEST, effect)).toEqual(HANDLED)
  })

  test('a machine that vanishes while it keeps a failure does not hold the event: its transaction has a limit', async () => {
    const { joined } = open()
    await database.query(`
      CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE 'idle for %', current_setting('idle_in_transaction_session_timeout'); END $$;
      CREATE TRIGGER tells BEFORE INSERT ON tix_webhooks_failures EXECUTE FUNCTION told()`)
    onTestFinished(async () => void (await database.query('DROP FUNCTION told CASCADE')))
    // In the error of Postgres, which a library may have wrapped.
    expect(inspect(await joined.keep(failed).catch((error) => error))).toContain('idle for 10s')
  })

  test('removes nothing if the handler has ended the transaction itself', async () => {
    // The notice of postgres.js that there is no transaction.
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    onTestFinished(() => log.mockRestore())
    const { client, joined, effect } = open()
    await joined.keep(failed)
    for (const statements of [['ROLLBACK'], ['ROLLBACK', 'BEGIN', "INSERT INTO effects VALUES ('stray')"]]) {
      const once = joined.once(REQUEST, async (tx) => {
        await effect(tx)
        for (const statement of statements) await client.run(tx, statement)
      })
      await expect(once).rejects.toMatchObject({})
      expect(await state()).toEqual({ effects: 0, records: 0, failures: 1 })
    }
  })

  test('names the table that is missing, or to which it has no rights, and runs as without failures', async () => {
    const role = `${database.schema}_role`
    await database.query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${database.schema} TO ${role}`)
    onTestFinished(async () => void (await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)))
    await database.query(`GRANT ALL ON effects, tix_webhooks_inbox TO ${role}`)
    const grant = (rights: string) => database.query(`GRANT ${rights} ON tix_webhooks_failures TO ${role}`)
    const { failures, joined, effect } = open({ role })
    const noRights = {
      code: 'store_unavailable',
      message: expect.stringMatching(
        /has no rights on .*"tix_webhooks_failures": .*SELECT, INSERT, UPDATE and DELETE/,
      ),
    }
    const report = vi.fn()
    expect(await joined.once({ ...REQUEST, key: 'n/no-rights', report }, effect)).toEqual(HANDLED)
    expect(await joined.once({ ...REQUEST, key: 'n/no-rights', report }, unexpected)).toEqual(DUPLICATE)
    expect(report.mock.calls).toEqual([
      [expect.objectContaining(noRights)],
      [expect.objectContaining(noRights)],
    ])
    await grant('SELECT, INSERT, UPDATE')
    await expect(failures.check()).rejects.toMatchObject(noRights)
    // Its end removes the failure, so it cannot be committed.
    await expect(joined.once(REQUEST, effect)).rejects.toMatchObject(noRights)
    expect(await state()).toEqual({ effects: 1, records: 1, failures: 0 })
    await grant('DELETE')
    await failures.check()
    expect(await joined.keep(failed)).toBe('failing')
    expect(await joined.once(REQUEST, effect)).toEqual(HANDLED)
    await database.query('ALTER TABLE tix_webhooks_failures RENAME TO moved')
    onTestFinished(
      async () => void (await database.query('ALTER TABLE moved RENAME TO tix_webhooks_failures')),
    )
    const missing = {
      code: 'store_unavailable',
      message: expect.stringMatching(
        /^The table .*"tix_webhooks_failures" is missing: run failures\.migrate\(\)/,
      ),
    }
    const fresh = open({ role })
    report.mockClear()
    expect(await joined.once({ ...REQUEST, key: 'n/missing', report }, effect)).toEqual(HANDLED)
    expect(await fresh.joined.once({ ...REQUEST, key: 'n/missing', report }, unexpected)).toEqual(DUPLICATE)
    expect(report.mock.calls).toEqual([
      [expect.objectContaining(missing)],
      [expect.objectContaining(missing)],
    ])
    const calls: (() => Promise<unknown>)[] = [
      () => fresh.joined.keep(failed),
      () => fresh.failures.check(),
      () => fresh.failures.list(),
    ]
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject(missing)
    }
  })
})

onPostgres('postgresInbox', () => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)

  test('joins only failures of its own pool', () => {
    const [pool, sql] = [openPg(database), openPostgresJs(database)]
    const inbox = postgresInbox(pool, { as: (client) => client })
    expect(inbox.joinFailures?.(postgresFailures(pool))).toBeDefined()
    expect(inbox.joinFailures?.(postgresFailures(openPg(database)))).toBeUndefined()
    expect(inbox.joinFailures?.(postgresFailures(sql))).toBeUndefined()
    expect(inbox.joinFailures?.({} as never)).toBeUndefined()
    expect(postgresInbox(sql).joinFailures?.(postgresFailures(sql))).toBeDefined()
  })

  describe.each(
    INBOX_CLIENTS.filter(({ name }) => name === 'pg' || name === 'postgres.js' || name === 'Kysely'),
  )('over $name', (library) => {
    test.each<[string, string | null]>([
      ['with a key', 'counted'],
      ['without one', null],
    ])('takes no further round trip for failures: an event %s', async (_, key) => {
      const { hostname, port } = new URL(database.url)
      const proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
      onTestFinished(() => proxy.close())
      const client = library.open(database, { port: proxy.port, max: 1 })
      const inbox = client.inbox()
      const joined = joinedOf(inbox.joinFailures?.(client.failures()))
      const work = async (tx: unknown) => void (await client.run(tx, "INSERT INTO effects VALUES ('one')"))
      async function tripsOf(once: () => Promise<unknown>): Promise<unknown[]> {
        const before = proxy.roundTrips
        return [await once(), proxy.roundTrips - before]
      }
      const plain = (id: string) => () => inbox.once({ key: key && `plain ${id}`, retainMs: DAY_MS }, work)
      const withFailures = (id: string) => () =>
        joined.once({ ...REQUEST, key: key && `joined ${id}`, failureKey: `joined ${id}` }, work)
      for (const used of ['connects', 'prepares']) {
        await plain(used)()
        await withFailures(used)()
      }
      for (const _status of key === null ? ['handled'] : ['handled', 'duplicate']) {
        expect(await tripsOf(withFailures('counted'))).toEqual(await tripsOf(plain('counted')))
      }
    })
  })
})
