import { Pool } from 'pg'
import { ddl, postgresFailures } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { listing } from '../../../stores/postgres/failures/statements.js'
import { failedDelivery } from '../../support/failed-delivery.js'
import { onPostgres } from '../../support/on-servers.js'
import { openPg } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { deferred } from '../../support/promises.js'
import { expectKept } from '../databases/kept.js'

onPostgres('postgresFailures', () => {
  const database = testDatabase(ddl)
  beforeEach(() => database.query('TRUNCATE tix_webhooks_failures'))

  test.each(['LATIN1', 'SQL_ASCII', 'EUC_JP'])('keep any text in a database in %s', async (encoding) => {
    const name = `${database.schema}_${encoding.toLowerCase()}`
    await database.query(
      `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    )
    onTestFinished(async () => void (await database.query(`DROP DATABASE ${name} WITH (FORCE)`)))
    const url = new URL(database.url)
    url.pathname = `/${name}`
    const pool = new Pool({ connectionString: url.href })
    pool.on('error', () => {})
    onTestFinished(() => pool.end())
    const failures = postgresFailures(pool)
    await failures.migrate()
    await expectKept(failures, /^(keys|bytes-any|text-any|list-filters|groups)/)
  })

  test('keep a date that Postgres cannot hold', async () => {
    const beyond = failedDelivery({ key: 'test/clock', failedAt: new Date(8.64e15) })
    expect(await postgresFailures(openPg(database)).keep(beyond)).toBe('failing')
  })

  test('write the bytes again only if they have changed', async () => {
    const failures = postgresFailures(openPg(database))
    const rawBody = Uint8Array.from({ length: 100_000 }, (_, i) => Math.imul(i, 2654435761) >>> 13)
    const [toast] = await database.column(
      "SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'tix_webhooks_failures'::regclass",
    )
    const chunks = async () => (await database.column(`SELECT DISTINCT chunk_id FROM ${toast}`)).map(Number)
    await failures.keep(failedDelivery({ rawBody }))
    const first = await chunks()
    expect(first).toHaveLength(1)
    await failures.keep(failedDelivery({ rawBody, message: 'another' }))
    expect(await chunks()).toEqual(first)
    await failures.keep(failedDelivery({ rawBody: rawBody.map((byte) => byte + 1) }))
    expect(await chunks()).not.toEqual(first)
  })

  test('keep a flood over two connections, and refuse what waits with more than 64 MiB', async () => {
    const pool = openPg(database, { max: 8 })
    const failures = postgresFailures(pool)
    let [busy, most] = [0, 0]
    const gate = deferred<void>()
    const query = pool.query.bind(pool) as (...query: unknown[]) => Promise<unknown>
    Object.assign(pool, {
      async query(...given: unknown[]) {
        most = Math.max(most, ++busy)
        await gate.promise
        return query(...given).finally(() => busy--)
      },
    })
    const rawBody = new Uint8Array(2 ** 20)
    const settled = Array.from({ length: 66 }, (_, i) =>
      failures.keep(failedDelivery({ key: `test/${i}`, rawBody })).catch(String),
    )
    const refused = /Failures of 64 MiB wait to be kept, so this one was not sent/
    for (const late of settled.slice(64)) expect(await late).toMatch(refused)
    gate.resolve()
    expect(new Set(await Promise.all(settled.slice(0, 64)))).toEqual(new Set(['failing']))
    expect(most).toBe(2)
  })
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
