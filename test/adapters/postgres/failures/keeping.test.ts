import type { JoinedInbox } from 'tix-webhooks'
import { ddl, postgresFailures, postgresInbox } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { listing } from '../../../../adapters/postgres/failures/statements.js'
import { failedDelivery } from '../../../support/failed-deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, openPg } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { deferred } from '../../../support/promises.js'

const DAY_MS = 86_400_000
const KEY = 'test/order.created/ord_1'
const failed = failedDelivery({ key: KEY })
const requestOf = (key: string) => ({
  key,
  failureKey: key,
  retainMs: DAY_MS,
  runsParked: false,
  report: () => {},
})

function joinedOf<Tx>(joined: JoinedInbox<Tx> | undefined): JoinedInbox<Tx> {
  if (joined === undefined) throw new Error('They are not joined')
  return joined
}

onPostgres.each(INBOX_CLIENTS)('postgresFailures over $name', (library) => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_inbox, tix_webhooks_failures'))
  test.each(['failures', 'joined'])(
    'the first failure of a pool at serializable waits for one that is kept at the same time, and counts on: by %s',
    async (by) => {
      const client = library.open(database, { settings: { default_transaction_isolation: 'serializable' } })
      const [inbox, failures] = [client.inbox(), client.failures()]
      const joined = inbox.joinFailures?.(failures)
      await failures.list()
      await database.query(
        "INSERT INTO tix_webhooks_failures SELECT 'test/order.created/ord_1', 'test', null, 'k', null, null, now(), 0, 'c', 'c', 'm', 'failing', now(), now(), 1, 0, null, ''",
      )
      const other = await openPg(database).connect()
      onTestFinished(() => other.release())
      await other.query('BEGIN; UPDATE tix_webhooks_failures SET attempts = attempts + 1')
      const keeping = by === 'failures' ? failures.keep(failed) : joinedOf(joined).keep(failed)
      const waiting =
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%tix_webhooks_failures%' AND query LIKE '%raw_body%'"
      await vi.waitFor(async () => expect(await database.query(waiting)).toHaveLength(1), { timeout: 10_000 })
      await other.query('COMMIT')
      expect(await keeping).toBe('failing')
      expect(await failures.get(KEY)).toMatchObject({ attempts: 3 })
    },
  )
})

onPostgres('postgresFailures', () => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_inbox, tix_webhooks_failures'))

  test('a schema without USAGE: the event runs as without failures, and it is reported', async () => {
    const role = `${database.schema}_role`
    const other = `${database.schema}_f`
    await database.query(
      `CREATE SCHEMA ${other}; CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${database.schema} TO ${role}; GRANT ALL ON effects, tix_webhooks_inbox TO ${role}`,
    )
    onTestFinished(
      async () =>
        void (await database.query(`DROP SCHEMA ${other} CASCADE; DROP OWNED BY ${role}; DROP ROLE ${role}`)),
    )
    const pool = openPg(database, { settings: { role } } as never)
    const joined = postgresInbox(pool).joinFailures?.(postgresFailures(pool, { table: `${other}.kept` }))
    const report = vi.fn()
    const request = { key: KEY, failureKey: KEY, retainMs: DAY_MS, runsParked: false, report }
    expect(await joined?.once(request, async () => {})).toEqual({ status: 'handled' })
    expect(report).toHaveBeenCalledOnce()
  })

  test('a purge does not wait for a failure that is being kept', async () => {
    const failures = postgresFailures(openPg(database))
    for (const key of ['test/1', 'test/2'])
      await failures.keep(failedDelivery({ key, failedAt: new Date(Date.now() - 31 * DAY_MS) }))
    const other = await openPg(database).connect()
    onTestFinished(async () => {
      await other.query('ROLLBACK')
      other.release()
    })
    await other.query("BEGIN; UPDATE tix_webhooks_failures SET attempts = 2 WHERE key = 'test/1'")
    expect(await failures.purge()).toBe(1)
  })

  function open() {
    const pool = openPg(database)
    const failures = postgresFailures(pool)
    return { failures, joined: joinedOf(postgresInbox(pool).joinFailures?.(failures)) }
  }

  test('a run that began before a handler took another role removes its own failure', async () => {
    const tenant = `${database.schema}_tenant`
    await database.query(`CREATE ROLE ${tenant}; GRANT USAGE ON SCHEMA ${database.schema} TO ${tenant}`)
    onTestFinished(async () => void (await database.query(`DROP OWNED BY ${tenant}; DROP ROLE ${tenant}`)))
    const { failures, joined } = open()
    for (const key of ['test/1', 'test/2']) await failures.keep(failedDelivery({ key }))
    const [begun, going] = [deferred(), deferred()]
    const first = joined.once(requestOf('test/1'), async () => {
      begun.resolve()
      await going.promise
    })
    await begun.promise
    const asTenant = joined.once(
      requestOf('test/2'),
      async (tx) =>
        void (await (tx as { query(sql: string): Promise<unknown> }).query(`SET LOCAL ROLE ${tenant}`)),
    )
    await expect(asTenant).rejects.toMatchObject({ code: 'store_unavailable' })
    going.resolve()
    expect(await first).toEqual({ status: 'handled' })
    expect(await failures.get('test/1')).toBeUndefined()
  }, 8000)
})

onPostgres('a table of failures without statistics, as after a bulk load', () => {
  const database = testDatabase(ddl)

  test.each(['orderId', 'eventId'] as const)('finds those of an id by its index: %s', async (name) => {
    await database.query(`
      ALTER TABLE tix_webhooks_failures SET (autovacuum_enabled = off);
      TRUNCATE tix_webhooks_failures;
      INSERT INTO tix_webhooks_failures
      SELECT 'test/' || n, 'test', null, 'k', 'id' || n, 'id' || n, now(), 0, 'c', 'c', 'm', 'failing', now(),
        now() - n * interval '1 s', 1, 0, null, ''
      FROM generate_series(1, 50000) AS n`)
    const statement = listing('tix_webhooks_failures', 'newest', { filter: [name] })
    const plan = await database.query(`EXPLAIN ${statement}`, [JSON.stringify({ [name]: 'id7' }), 1])
    const index = name === 'orderId' ? 'order_id' : 'event_id'
    expect(JSON.stringify(plan)).toContain(`tix_webhooks_failures_${index}`)
  })
})
