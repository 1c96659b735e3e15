import { CamelCasePlugin, Kysely, ParseJSONResultsPlugin, PostgresDialect } from 'kysely'
import { Pool, types } from 'pg'
import type { FailedDelivery } from 'tix-webhooks'
import { ddl, postgresFailures } from 'tix-webhooks/postgres'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { failedDelivery } from '../../../support/failed-deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { kyselyDriver, openPg, openPostgresJs } from '../../../support/postgres-clients.js'
import { type TestDatabase, testDatabase } from '../../../support/postgres-database.js'
import { deferred } from '../../../support/promises.js'

const HOSTILE = failedDelivery({
  kind: ' [1] ',
  eventId: '42',
  orderId: 'ü漢😀\\"\\u0041',
  message: 'Zürich \\u00fc "漢" 😀\n',
  rawBody: Uint8Array.from({ length: 256 }, (_, i) => i),
})

/** The fields of a delivery that are kept, and how it is found. */
async function expectKept(failures: ReturnType<typeof postgresFailures>, failed: FailedDelivery) {
  expect(await failures.keep(failed)).toBe('failing')
  const { failedAt, isReplay, parkAfter, ...rest } = failed
  const { orderId } = failed
  for (const filter of [{ orderId }, { kind: failed.kind }, { eventId: failed.eventId }]) {
    expect(await failures.list(filter)).toEqual([
      { ...rest, state: 'failing', firstAt: failedAt, lastAt: failedAt, attempts: 1, replays: 0 },
    ])
    expect(await failures.count(filter)).toBe(1)
    const { group, kind, code, message } = failed
    const times = { firstAt: failedAt, lastAt: failedAt }
    expect(await failures.groups(filter)).toEqual([{ group, kind, code, message, count: 1, ...times }])
  }
  expect(await failures.keep({ ...failed, parkAfter: { attempts: 2 } })).toBe('parked')
  expect(await failures.delete(failed.key)).toBe(true)
}

onPostgres('postgresFailures', () => {
  const database = testDatabase(ddl)
  beforeEach(() => database.query('TRUNCATE tix_webhooks_failures'))

  function openParsing(given: TestDatabase): Pool {
    const pool = openPg(given)
    const { TEXT, INT4, INT8, FLOAT8 } = types.builtins
    const parsers: Readonly<Record<number, (text: string) => unknown>> = {
      [TEXT]: (text) => text.trim().toUpperCase(),
      [INT4]: String,
      [FLOAT8]: String,
      [INT8]: BigInt,
    }
    const getTypeParser = (oid: number, format?: 'text') => parsers[oid] ?? types.getTypeParser(oid, format)
    Object.assign(pool.options, { types: { getTypeParser } })
    return pool
  }

  test.each<[string, (given: TestDatabase) => ReturnType<typeof postgresFailures>]>([
    [
      'trims and raises text, and returns numbers as text (pg)',
      (given) => postgresFailures(openParsing(given)),
    ],
    [
      'raises text and renames columns (postgres.js)',
      (given) => {
        const from = (value: unknown) => (typeof value === 'string' ? value.trim().toUpperCase() : value)
        const column = { from: (name: string) => `${name}_` }
        return postgresFailures(openPostgresJs(given, {}, { transform: { value: { from }, column } }))
      },
    ],
    [
      'parses JSON and renames columns (Kysely)',
      (given) => {
        const plugins = [new ParseJSONResultsPlugin(), new CamelCasePlugin()]
        const dialect = new PostgresDialect({ pool: openPg(given) })
        return postgresFailures(kyselyDriver(new Kysely({ dialect, plugins })))
      },
    ],
    [
      'has another encoding',
      (given) => postgresFailures(openPg(given, { settings: { client_encoding: 'SJIS' } })),
    ],
    [
      'has other formats',
      (given) =>
        postgresFailures(
          openPg(given, {
            settings: {
              DateStyle: 'SQL, DMY',
              bytea_output: 'escape',
              TimeZone: 'Asia/Tokyo',
              extra_float_digits: '-3',
            },
          }),
        ),
    ],
  ])('keep what they are given through a client that %s', (_, open) => expectKept(open(database), HOSTILE))

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
    await expectKept(failures, HOSTILE)
  })

  test('keep a text that Postgres cannot hold, with another character in place of what it cannot', async () => {
    const failures = postgresFailures(openPg(database))
    await failures.keep(failedDelivery({ kind: 'a\0b', message: 'half \ud83d of a pair', orderId: '\udc00' }))
    const replaced = { kind: 'a\ufffdb', message: 'half \ufffd of a pair', orderId: '\ufffd' }
    expect(await failures.list({ kind: 'a\0b', orderId: '\udc00' })).toMatchObject([replaced])
    const beyond = failedDelivery({ key: 'test/clock', failedAt: new Date(8.64e15) })
    expect(await failures.keep(beyond)).toBe('failing')
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

  describe('that keep a flood', () => {
    /** A pool whose connections wait for `go`. */
    function openHeld(): { pool: Pool; go(): void; mostBusy(): number } {
      const pool = openPg(database, { max: 8 })
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
      return {
        pool,
        go: () => gate.resolve(),
        mostBusy: () => most,
      }
    }

    test('use two connections', async () => {
      const held = openHeld()
      const failures = postgresFailures(held.pool)
      const kept = Array.from({ length: 50 }, (_, i) => failures.keep(failedDelivery({ key: `test/${i}` })))
      held.go()
      expect(new Set(await Promise.all(kept))).toEqual(new Set(['failing']))
      expect(held.mostBusy()).toBe(2)
    })

    test('refuse what waits with more than 64 MiB', async () => {
      const held = openHeld()
      const failures = postgresFailures(held.pool)
      const rawBody = new Uint8Array(2 ** 20)
      const settled = Array.from({ length: 66 }, (_, i) =>
        failures.keep(failedDelivery({ key: `test/${i}`, rawBody })).then(
          () => 'kept',
          (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
        ),
      )
      const refused = /^store_unavailable: Failures of 64 MiB wait to be kept, so this one was not sent/
      expect(await settled[64]).toMatch(refused)
      expect(await settled[65]).toMatch(refused)
      held.go()
      await Promise.all(settled)
    })
  })
})
