import { type FailureQuery, type JoinedInbox, memoryFailures } from 'tix-webhooks'
import { type SqliteTransaction, sqliteFailures, sqliteInbox } from 'tix-webhooks/sqlite'
import { expect, test, vi } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { expectUnavailable } from '../../support/rejections.js'
import { DAY } from '../../support/sqlite-claims.js'
import { listening, onEachDriver } from '../../support/sqlite-drivers.js'
import { rowOf, type TestDatabase, valuesOf } from '../../support/sqlite-open.js'

onEachDriver('failures in SQLite', ({ open }) => {
  /** Its statements are those that come after `migrate`. */
  async function migrated() {
    const { db, statements } = listening(open())
    const failures = sqliteFailures(db)
    await failures.migrate()
    statements.length = 0
    return { db, failures, statements }
  }

  test('share one commit in a flood, and write one row for each key', async () => {
    const { db, failures, statements } = await migrated()
    await Promise.all(
      Array.from({ length: 500 }, (_, i) => failures.keep(failedDelivery({ key: `n/${i % 50}` }))),
    )
    expect(statements.filter((sql) => sql === 'COMMIT')).toHaveLength(1)
    expect(await failures.count()).toBe(50)
    expect(rowOf(db, 'SELECT sum(attempts) AS n FROM tix_webhooks_failures')).toEqual({ n: 500 })
  })

  test('do not write the bytes again that they have', async () => {
    const { failures } = await migrated()
    const rawBody = new Uint8Array(2 ** 20).fill(7)
    // From the second attempt on, the row has the size that it keeps.
    for (let i = 0; i < 2; i++) await failures.keep(failedDelivery({ rawBody }))
    const watching = open()
    watching.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
    await failures.keep(failedDelivery({ rawBody, failedAt: new Date(Date.UTC(2026, 4, 18)) }))
    const [, pages] = Object.values(
      watching.prepare('PRAGMA wal_checkpoint(PASSIVE)').all()[0] as Record<string, number>,
    )
    expect(pages).toBeLessThan(20)
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

  test('say so if the disk is full, and keep what was kept before', async () => {
    const { db, failures } = await migrated()
    await failures.keep(failedDelivery())
    const { page_count: pages } = rowOf(db, 'PRAGMA page_count') as { page_count: number }
    db.exec(`PRAGMA max_page_count = ${pages + 10}`)
    const large = failedDelivery({ key: 'n/large', rawBody: new Uint8Array(2 ** 17) })
    const [small, refused] = await Promise.allSettled([
      failures.keep(failedDelivery({ key: 'n/small' })),
      failures.keep(large),
    ])
    expect(small).toEqual({ status: 'fulfilled', value: 'failing' })
    expect(String((refused as PromiseRejectedResult).reason)).toMatch(
      /The disk of this SQLite database is full/,
    )
    expect(await failures.count()).toBe(2)
  })
})

type Tx = SqliteTransaction<TestDatabase>

const { key: KEY } = failedDelivery()
const request = { key: KEY, retainMs: 7 * DAY, failureKey: KEY, runsParked: false, report: () => {} }

onEachDriver('an inbox joined with failures', ({ open }) => {
  async function joinedOn(db: TestDatabase = open()) {
    const inbox = sqliteInbox(db)
    const failures = sqliteFailures(db)
    await inbox.migrate()
    await failures.migrate()
    db.exec('CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL)')
    const joined = inbox.joinFailures?.(failures) as JoinedInbox<Tx>
    const effect = async (tx: Tx): Promise<void> => {
      tx.commit((handed) => void handed.prepare('INSERT INTO effects VALUES (?)').run('e'))
    }
    const state = () => [
      valuesOf(db, 'SELECT key FROM tix_webhooks_inbox ORDER BY key'),
      valuesOf(db, 'SELECT attempts FROM tix_webhooks_failures'),
      valuesOf(db, 'SELECT id FROM effects'),
    ]
    return { db, inbox, failures, joined, effect, state }
  }

  test('is one only if they were made of the same database object', async () => {
    const db = open()
    const inbox = sqliteInbox(db)
    expect(inbox.joinFailures?.(sqliteFailures(db))).toBeDefined()
    expect(inbox.joinFailures?.(sqliteFailures(open()))).toBeUndefined()
    expect(inbox.joinFailures?.(memoryFailures())).toBeUndefined()
    // As an app has that loads the package as ESM and as CommonJS.
    const url = '../../../stores/sqlite/failures.js?copy'
    const copy = (await import(url)) as { sqliteFailures: typeof sqliteFailures }
    expect(copy.sqliteFailures).not.toBe(sqliteFailures)
    expect(inbox.joinFailures?.(copy.sqliteFailures(db))).toBeDefined()
  })

  test('leaves the failure if the effects fail, or the commit', async () => {
    const { db, joined, state } = await joinedOn()
    await joined.keep(failedDelivery())
    db.exec('PRAGMA foreign_keys = ON; CREATE TABLE orders (id TEXT PRIMARY KEY)')
    db.exec('CREATE TABLE tickets (o TEXT REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED)')
    for (const broken of ['INSERT INTO nowhere VALUES (1)', 'INSERT INTO tickets VALUES (7)', 'ROLLBACK']) {
      const once = joined.once(request, async (tx) => {
        tx.commit((handed) => handed.exec(`INSERT INTO effects VALUES ('e'); ${broken}`))
      })
      await expect(once).rejects.toThrow()
      expect(state()).toEqual([[], [1], []])
    }
  })

  test('whose failures have no table says so, and runs as without them', async () => {
    const { db, joined, failures, effect, state } = await joinedOn()
    db.exec('DROP TABLE tix_webhooks_failures')
    const missing = /"tix_webhooks_failures" is missing: run failures\.migrate\(\)/
    const report = vi.fn()
    for (const status of ['handled', 'duplicate']) {
      expect(await joined.once({ ...request, report }, effect)).toEqual({ status })
    }
    expect(report.mock.calls).toEqual([
      [expect.objectContaining({ code: 'store_unavailable', message: expect.stringMatching(missing) })],
    ])
    await expectUnavailable(joined.keep(failedDelivery({ key: 'n/other' })), missing)
    await failures.migrate()
    expect(state()).toEqual([[KEY], [], ['e']])
    db.exec('DROP TABLE tix_webhooks_inbox')
    await expectUnavailable(
      joined.keep(failedDelivery()),
      /"tix_webhooks_inbox" is missing: run inbox\.migrate\(\)/,
    )
    expect(await failures.count()).toBe(0)
  })

  test('needs two more statements, by key, for an event that never failed', async () => {
    const { db, statements } = listening(open())
    const { inbox, joined, effect } = await joinedOn(db)
    async function statementsOf(once: (key: string) => Promise<unknown>): Promise<string[]> {
      await once('n/first')
      statements.length = 0
      await once('n/counted')
      db.exec('DELETE FROM tix_webhooks_inbox')
      return statements.filter((sql) => /^(SELECT|INSERT|DELETE|BEGIN|COMMIT)/.test(sql)).slice(0, -1)
    }
    const plain = await statementsOf((key) => inbox.once({ ...request, key }, effect))
    const more = await statementsOf((key) => joined.once({ ...request, key, failureKey: key }, effect))
    expect(more.filter((sql) => !plain.includes(sql))).toEqual([
      expect.stringMatching(/^SELECT state FROM "tix_webhooks_failures" WHERE key =/),
      expect.stringMatching(/^DELETE FROM "tix_webhooks_failures" WHERE key =/),
    ])
    expect([plain.length, more.length]).toEqual([5, 7])
  })
})
