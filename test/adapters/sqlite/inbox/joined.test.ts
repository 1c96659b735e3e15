import { type FailedDelivery, type JoinedInbox, memoryFailures } from 'tix-webhooks'
import { type SqliteTransaction, sqliteFailures, sqliteInbox } from 'tix-webhooks/sqlite'
import { expect, test, vi } from 'vitest'
import { failedDelivery } from '../../../support/failed-delivery.js'
import { DAY } from '../../../support/sqlite-claims.js'
import { listening, onEachDriver } from '../../../support/sqlite-drivers.js'
import type { TestDatabase } from '../../../support/sqlite-open.js'
import { valuesOf } from '../../../support/sqlite-open.js'
import { expectUnavailable } from '../../../support/sqlite-rejections.js'

const failed = (given: Partial<FailedDelivery> = {}): FailedDelivery =>
  failedDelivery({ key: 'n/k', namespace: 'n', ...given })

type Tx = SqliteTransaction<TestDatabase>

const KEY = 'n/k'
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
    const url = '../../../../adapters/sqlite/failures.js?copy'
    const copy = (await import(url)) as { sqliteFailures: typeof sqliteFailures }
    expect(copy.sqliteFailures).not.toBe(sqliteFailures)
    expect(inbox.joinFailures?.(copy.sqliteFailures(db))).toBeDefined()
  })

  test('leaves the failure if the effects fail, or the commit', async () => {
    const { db, joined, state } = await joinedOn()
    await joined.keep(failed())
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
    await expectUnavailable(joined.keep(failed({ key: 'n/other' })), missing)
    await failures.migrate()
    expect(state()).toEqual([[KEY], [], ['e']])
    db.exec('DROP TABLE tix_webhooks_inbox')
    await expectUnavailable(joined.keep(failed()), /"tix_webhooks_inbox" is missing: run inbox\.migrate\(\)/)
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
