import { inspect } from 'node:util'
import type { JoinedInbox } from 'tix-webhooks'
import { ddl as mysqlDdl, mysqlFailures, mysqlInbox } from 'tix-webhooks/mysql'
import { ddl as postgresDdl, postgresFailures, postgresInbox } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql, onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, openPostgresJs } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { deferred } from '../../support/promises.js'
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

const parking = failedDelivery({ key: KEY, parkAfter: { attempts: 1 } })

onPostgres.each(INBOX_CLIENTS)('an inbox joined with failures over $name', (library) => {
  const database = testDatabase('CREATE TABLE effects (id text)', postgresDdl)
  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_inbox, tix_webhooks_failures'))

  /** The effects, records and failures. */
  async function state(): Promise<unknown> {
    const [found] = await database.query(`SELECT
      (SELECT count(*)::int FROM effects) AS effects,
      (SELECT count(*)::int FROM tix_webhooks_inbox) AS records,
      (SELECT count(*)::int FROM tix_webhooks_failures) AS failures`)
    return found
  }

  /** A role that can be taken, or had from the beginning, until the test ends. */
  async function createRole(...grants: readonly string[]): Promise<string> {
    const role = `${database.schema}_role`
    const all = [`USAGE ON SCHEMA ${database.schema}`, ...grants].map((grant) => `GRANT ${grant} TO ${role}`)
    await database.query([`CREATE ROLE ${role}`, ...all].join('; '))
    onTestFinished(async () => void (await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)))
    return role
  }

  function open(settings: Readonly<Record<string, string>> = {}) {
    const client = library.open(database, { settings })
    const failures = client.failures()
    const joined = client.inbox().joinFailures?.(failures) as JoinedInbox<unknown>
    const effect = async (tx: unknown) => void (await client.run(tx, "INSERT INTO effects VALUES ('one')"))
    return { client, failures, joined, effect }
  }

  test('removes the failure at the beginning once a handler has taken a role without rights on it', async () => {
    const tenant = await createRole('INSERT ON effects')
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

  test('commits nothing without the right to delete the failure, as its end would', async () => {
    const role = await createRole(
      'ALL ON effects, tix_webhooks_inbox',
      'SELECT, INSERT, UPDATE ON tix_webhooks_failures',
    )
    const { failures, joined, effect } = open({ role })
    const noRights = {
      code: 'store_unavailable',
      message: expect.stringMatching(/has no rights on .*: .*SELECT, INSERT, UPDATE and DELETE/),
    }
    await expect(failures.check()).rejects.toMatchObject(noRights)
    await expect(joined.once(REQUEST, effect)).rejects.toMatchObject(noRights)
    expect(await state()).toEqual({ effects: 0, records: 0, failures: 0 })
    await database.query(`GRANT DELETE ON tix_webhooks_failures TO ${role}`)
    await failures.check()
    expect(await joined.keep(failed)).toBe('failing')
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

  test.runIf(library.name === 'pg')('runs in a schema without USAGE as without failures', async () => {
    const other = `${database.schema}_f`
    const role = await createRole('ALL ON effects, tix_webhooks_inbox')
    await database.query(`CREATE SCHEMA ${other}`)
    onTestFinished(async () => void (await database.query(`DROP SCHEMA ${other} CASCADE`)))
    const pool = openPg(database, { settings: { role } })
    const joined = postgresInbox(pool).joinFailures?.(postgresFailures(pool, { table: `${other}.kept` }))
    const report = vi.fn()
    expect(await joined?.once({ ...REQUEST, report }, async () => {})).toEqual(HANDLED)
    expect(report).toHaveBeenCalledOnce()
  })

  test.runIf(library.name === 'pg')(
    'removes the failure of a run that began before a handler took another role',
    async () => {
      const tenant = await createRole()
      const { client, failures, joined } = open()
      const requests = ['test/1', 'test/2'].map((key) => ({ ...REQUEST, key, failureKey: key })) as [
        typeof REQUEST,
        typeof REQUEST,
      ]
      for (const { key } of requests) await failures.keep(failedDelivery({ key }))
      const [begun, going] = [deferred(), deferred()]
      const first = joined.once(requests[0], () => {
        begun.resolve()
        return going.promise
      })
      await begun.promise
      const asTenant = joined.once(
        requests[1],
        async (tx) => void (await client.run(tx, `SET LOCAL ROLE ${tenant}`)),
      )
      await expect(asTenant).rejects.toMatchObject({ code: 'store_unavailable' })
      going.resolve()
      expect(await first).toEqual(HANDLED)
      expect(await failures.get('test/1')).toBeUndefined()
    },
  )
})
