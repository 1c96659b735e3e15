import type { ClaimRequest } from 'tix-webhooks'
import { ddl, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { onPostgres } from '../../support/on-servers.js'
import { openPg, openPostgresJs, STORE_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { startProxy } from '../../support/tcp-proxy.js'

const HOUR_MS = 3_600_000

const claimOf = (more: Partial<ClaimRequest> = {}): ClaimRequest => ({
  key: 'k',
  token: 'a',
  leaseMs: HOUR_MS,
  retainMs: 24 * HOUR_MS,
  ...more,
})

onPostgres.each(STORE_CLIENTS)('postgresStore over $name', (library) => {
  const database = testDatabase(ddl)

  beforeEach(() => database.query('TRUNCATE tix_webhooks'))

  test('needs one round trip for each call', async () => {
    const { hostname, port } = new URL(database.url)
    const proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
    onTestFinished(() => proxy.close())
    const store = library.open(database, { port: proxy.port, max: 1 }).store()
    const lease = { key: 'counted', token: 'a' }
    const calls = async (): Promise<number[]> => {
      const trips: number[] = []
      for (const call of [
        () => store.claim(claimOf(lease)),
        () => store.claim(claimOf({ key: 'counted', token: 'b' })),
        () => store.renew(lease, HOUR_MS),
        () => store.release(lease),
        () => store.claim(claimOf({ key: 'counted', token: 'c' })),
        () => store.complete({ key: 'counted', token: 'c' }, HOUR_MS),
        () => store.claim(claimOf(lease)),
        () => store.purge(),
      ]) {
        const before = proxy.roundTrips
        await call()
        trips.push(proxy.roundTrips - before)
      }
      return trips
    }
    // The first of each may have to connect, and to prepare its statement.
    await calls()
    await database.query('TRUNCATE tix_webhooks')
    expect(await calls()).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    expect(proxy.connections).toBe(1)
  })

  test('goes by the clock of the server, and not by that of the process', async () => {
    const jumpTo = (now: number): unknown => vi.useFakeTimers({ toFake: ['Date'], now })
    const today = Date.now()
    onTestFinished(() => void vi.useRealTimers())
    jumpTo(today - 1_000 * HOUR_MS)
    const store = library.open(database).store()
    await store.claim(claimOf())
    jumpTo(today + 1_000 * HOUR_MS)
    expect(await store.claim(claimOf({ token: 'b' }))).toMatchObject({ status: 'in_flight' })
    expect(await store.purge()).toBe(0)
    expect(
      await database.column(
        `SELECT lease_until BETWEEN now() + interval '55 min' AND now() + interval '1 h'
            AND expires_at BETWEEN now() + interval '23 h' AND now() + interval '24 h'
            AND purge_after = expires_at FROM tix_webhooks`,
      ),
    ).toEqual([true])
  })

  test.each(['Mixed_Case', 'x'.repeat(48), 'user', 'q1'])(
    'keeps its records in a table named %s',
    async (table) => {
      for (const name of [table, `${database.schema}.${table}`]) {
        const store = library.open(database).store({ table: name })
        await store.migrate()
        const key = `by ${name}`
        expect(await store.claim(claimOf({ key }))).toEqual({ status: 'claimed', attempt: 1 })
        expect(await store.complete({ key, token: 'a' }, HOUR_MS)).toBe(true)
        expect(await store.claim(claimOf({ key }))).toEqual({ status: 'completed' })
      }
      expect(await database.column(`SELECT count(*)::int FROM ${database.schema}."${table}"`)).toEqual([2])
      expect(await database.column('SELECT count(*)::int FROM tix_webhooks')).toEqual([0])
    },
  )

  test.each(['repeatable read', 'serializable'])(
    'is right, or rejects, where %s is the default',
    async (isolation) => {
      const store = library
        .open(database, { settings: { default_transaction_isolation: isolation }, max: 8 })
        .store()
      for (let round = 0; round < 10; round++) {
        const key = `race ${round}`
        const claims = await Promise.allSettled(
          Array.from({ length: 8 }, (_, i) => store.claim(claimOf({ key, token: `t${i}` }))),
        )
        const answers = claims.map((claim) =>
          claim.status === 'fulfilled' ? claim.value.status : claim.reason.code,
        )
        expect(answers.filter((answer) => answer === 'claimed')).toHaveLength(1)
        for (const answer of answers) expect(['claimed', 'in_flight', 'store_unavailable']).toContain(answer)
      }
    },
  )
})

onPostgres('a table of postgresStore', () => {
  const database = testDatabase(ddl)

  test('tells keys apart to the byte, and keeps what is in a string out of the SQL', async () => {
    const store = postgresStore(openPg(database))
    const keys = [
      'a',
      'A',
      'a ',
      ' a',
      "a'; DROP TABLE tix_webhooks; --",
      'a$1',
      'a%',
      'a_',
      '\\x00',
      '"a"',
      `${'a'.repeat(255)}`,
    ]
    for (const key of keys) {
      expect(await store.claim(claimOf({ key, token: "'" }))).toEqual({ status: 'claimed', attempt: 1 })
    }
    expect(await database.column('SELECT key FROM tix_webhooks ORDER BY key')).toEqual([...keys].sort())
  })

  test('writes no index for a completion: the new row takes the place of the old one', async () => {
    // One connection, so that all is in one transaction, of which the server has counted what it did.
    const pool = openPg(database, { max: 1 })
    const store = postgresStore(pool)
    await pool.query('BEGIN')
    await store.claim(claimOf({ key: 'in place' }))
    expect(await store.complete({ key: 'in place', token: 'a' }, 48 * HOUR_MS)).toBe(true)
    const { rows } = await pool.query(
      "SELECT pg_stat_get_xact_tuples_hot_updated('tix_webhooks'::regclass)::int AS count",
    )
    await pool.query('COMMIT')
    expect(rows).toEqual([{ count: 1 }])
  })

  test('works over postgres.js without prepared statements, as PgBouncer wants it', async () => {
    const store = postgresStore(openPostgresJs(database, {}, { prepare: false }))
    expect(await store.claim(claimOf({ key: 'unprepared' }))).toEqual({ status: 'claimed', attempt: 1 })
    expect(await store.complete({ key: 'unprepared', token: 'a' }, HOUR_MS)).toBe(true)
  })
})
