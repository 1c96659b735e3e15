import type { FailedDelivery, FailureQuery } from 'tix-webhooks'
import { sqliteFailures } from 'tix-webhooks/sqlite'
import { describe, expect, test } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { DAY, MINUTE, testClock } from '../../support/sqlite-claims.js'
import { listening, onEachDriver } from '../../support/sqlite-drivers.js'
import { rowOf, valuesOf } from '../../support/sqlite-open.js'
import { expectUnavailable } from '../../support/sqlite-rejections.js'

const failed = (given: Partial<FailedDelivery> = {}): FailedDelivery =>
  failedDelivery({ key: 'n/k', namespace: 'n', ...given })

onEachDriver('failures in SQLite', ({ open }) => {
  /** Its statements are those that come after `migrate`. */
  async function migrated(options: object = {}) {
    const { db, statements } = listening(open())
    const failures = sqliteFailures(db, options)
    await failures.migrate()
    statements.length = 0
    return { db, failures, statements }
  }

  test('share one commit in a flood, and write one row for each key', async () => {
    const { db, failures, statements } = await migrated()
    await Promise.all(Array.from({ length: 500 }, (_, i) => failures.keep(failed({ key: `n/${i % 50}` }))))
    expect(statements.filter((sql) => sql === 'COMMIT')).toHaveLength(1)
    expect(await failures.count()).toBe(50)
    expect(rowOf(db, 'SELECT sum(attempts) AS n FROM tix_webhooks_failures')).toEqual({ n: 500 })
  })

  test('do not write the bytes again that they have', async () => {
    const { failures } = await migrated()
    const rawBody = new Uint8Array(2 ** 20).fill(7)
    // From the second attempt on, the row has the size that it keeps.
    for (let i = 0; i < 2; i++) await failures.keep(failed({ rawBody }))
    const watching = open()
    watching.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
    await failures.keep(failed({ rawBody, failedAt: new Date(Date.UTC(2026, 4, 18)) }))
    const [, pages] = Object.values(
      watching.prepare('PRAGMA wal_checkpoint(PASSIVE)').all()[0] as Record<string, number>,
    )
    expect(pages).toBeLessThan(20)
  })

  test('are purged 30 days after the last failure, to the millisecond, oldest first', async () => {
    const clock = testClock()
    const { failures } = await migrated({ now: clock.now })
    const at = (ms: number): Date => new Date(clock.now() + ms)
    for (const n of [3, 1, 2]) await failures.keep(failed({ key: `n/${n}`, failedAt: at(n * MINUTE) }))
    await failures.keep(failed({ key: 'n/2', failedAt: at(DAY) }))
    clock.jump(30 * DAY + 3 * MINUTE - 1)
    expect(await failures.purge({ limit: 5 })).toBe(1)
    clock.jump(1)
    expect(await failures.purge({ limit: 1 })).toBe(1)
    expect((await failures.list()).map(({ key }) => key)).toEqual(['n/2'])
    expect(await failures.purge()).toBe(0)
  })

  const QUERIES: [index: string, query: FailureQuery][] = [
    ['last_at', {}],
    ['last_at', { kind: 'k', before: { lastAt: new Date(5), key: 'n/k' } }],
    ['state', { state: 'parked', order: 'oldest', after: new Date(5) }],
    ['cause', { group: 'g', order: 'oldest' }],
    ['event_id', { eventId: 'e' }],
    ['order_id', { orderId: 'o' }],
  ]
  test.each(QUERIES)('are listed by the index of %s: %o', async (index, query) => {
    const { db, failures, statements } = await migrated()
    await failures.list(query)
    const sql = statements.find((statement) => statement.startsWith('SELECT *')) ?? ''
    const explained = JSON.stringify(db.prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll(/@\w+/g, '1')}`).all())
    expect(explained).toContain(`INDEX tix_webhooks_failures_${index}`)
    expect(explained).not.toContain('SCAN tix_webhooks_failures"')
  })

  test('are counted and grouped without reading the rows', async () => {
    const { db, failures, statements } = await migrated()
    const filter = { kind: 'k', account: 'a', namespace: 'n', state: 'failing' } as const
    for (const given of [{}, filter]) {
      statements.length = 0
      await failures.count(given)
      await failures.groups(given)
      const asked = statements.filter((statement) => statement.includes('count(*)'))
      for (const sql of asked) {
        const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll(/@\w+/g, '1')}`).all()
        const scans = plan
          .map((step) => (step as { detail: string }).detail)
          .filter((d) => /^(SCAN|SEARCH) t/.test(d))
        expect(scans).not.toEqual([])
        for (const scan of scans) expect(scan).toMatch(/COVERING INDEX/)
      }
      expect(asked).toHaveLength(2)
    }
  })

  describe('say so', () => {
    const MISSING = /"tix_webhooks_failures" is missing: run failures\.migrate\(\)/
    const CALLS: [name: string, call: (failures: ReturnType<typeof sqliteFailures>) => Promise<unknown>][] = [
      ['keep', (failures) => failures.keep(failed())],
      ['get', (failures) => failures.get('n/k')],
      ['delete', (failures) => failures.delete('n/k')],
      ['list', (failures) => failures.list()],
      ['groups', (failures) => failures.groups()],
      ['count', (failures) => failures.count()],
      ['purge', (failures) => failures.purge()],
      ['check', (failures) => failures.check()],
    ]
    test.each(CALLS)('if there is no table, or the database is closed: %s', async (_, call) => {
      const { db, failures } = await migrated()
      await call(failures)
      db.exec('DROP TABLE tix_webhooks_failures')
      await expectUnavailable(call(failures), MISSING)
      await expectUnavailable(call(sqliteFailures(db)), MISSING)
      await failures.migrate()
      await call(failures)
      db.close()
      await expectUnavailable(call(sqliteFailures(db)), /The database is closed/)
    })

    test('if it is read-only', async () => {
      const { db, failures } = await migrated()
      await failures.keep(failed())
      db.exec('PRAGMA query_only = ON')
      const message = /^This SQLite database is read-only/
      await expectUnavailable(failures.keep(failed()), message)
      await expectUnavailable(failures.delete('n/k'), message)
      await expectUnavailable(failures.purge(), message)
      await expectUnavailable(failures.check(), message)
      expect(await failures.list()).toHaveLength(1)
    })

    test('if the disk is full, and keep what was kept before', async () => {
      const { db, failures } = await migrated()
      await failures.keep(failed())
      const { page_count: pages } = rowOf(db, 'PRAGMA page_count') as { page_count: number }
      db.exec(`PRAGMA max_page_count = ${pages + 10}`)
      const large = failed({ key: 'n/large', rawBody: new Uint8Array(2 ** 17) })
      const [small, refused] = await Promise.allSettled([
        failures.keep(failed({ key: 'n/small' })),
        failures.keep(large),
      ])
      expect(small).toEqual({ status: 'fulfilled', value: 'failing' })
      expect(String((refused as PromiseRejectedResult).reason)).toMatch(/is the disk full/)
      expect(await failures.count()).toBe(2)
    })

    test('if the table is that of the inbox', async () => {
      const { db } = await migrated()
      db.exec('CREATE TABLE other (key TEXT PRIMARY KEY, handled_at INTEGER, expires_at INTEGER)')
      const failures = sqliteFailures(db, { table: 'other' })
      await expectUnavailable(failures.migrate(), /a table "other" without namespace, account/)
      await expectUnavailable(
        failures.keep(failed()),
        /was created by another version or another program: failures\.migrate/,
      )
    })
  })

  test('are created by migrate and by ddl alike, twice too', async () => {
    const { db, failures } = await migrated()
    await failures.migrate()
    db.exec(failures.ddl)
    expect(
      valuesOf(db, "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"),
    ).toEqual([
      'tix_webhooks_failures',
      'tix_webhooks_failures_cause',
      'tix_webhooks_failures_event_id',
      'tix_webhooks_failures_last_at',
      'tix_webhooks_failures_order_id',
      'tix_webhooks_failures_state',
    ])
    const made = open('made.db')
    made.exec(failures.ddl)
    expect(await sqliteFailures(made).keep(failed())).toBe('failing')
  })
})
