import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe, expect, test } from 'vitest'
import { runs } from '../../support/runs.js'
import { raceChildren, useChildren } from '../../support/sqlite-children.js'
import { claim } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { rowOf, valuesOf } from '../../support/sqlite-open.js'
import { expectUnavailable } from '../../support/sqlite-rejections.js'

const { start } = useChildren()
const once = { key: 'k', retainMs: 60_000 }

onEachDriver('migrate', ({ open, path, driver }) => {
  test('creates the tables and the indexes of the store and the inbox, and no more', async () => {
    const db = open()
    await sqliteStore(db).migrate()
    await sqliteInbox(db).migrate()
    expect(valuesOf(db, 'SELECT name FROM sqlite_master ORDER BY name')).toEqual([
      'tix_webhooks',
      'tix_webhooks_expires_at',
      'tix_webhooks_inbox',
      'tix_webhooks_inbox_expires_at',
      'tix_webhooks_inbox_newest',
      'tix_webhooks_inbox_newest_expires_at',
    ])
  })

  test('may be called by several processes at once on a file that is not there yet', async () => {
    for (let round = 0; round < runs(4); round++) {
      const file = path(`round-${round}.db`)
      expect(await raceChildren(() => start({ task: 'migrate', driver, file }), 4)).toEqual([{}, {}, {}, {}])
    }
  })

  test('waits for a process that reads', async () => {
    const db = open()
    db.exec('CREATE TABLE orders (id TEXT)')
    const reader = start({ task: 'hold', by: 'reading', driver, file: path() })
    await reader.reply()
    reader.go()
    // The wait blocks this process, and not the other.
    await sqliteStore(db).migrate()
    expect(rowOf(db, 'PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' })
    expect(await reader.ended).toBe(0)
  })

  test('is what its ddl does, for tools', async () => {
    const db = open()
    const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
    for (const { ddl } of [store, inbox, store, inbox]) db.exec(ddl)
    expect(await claim(store, 'k', 'a')).toEqual({ status: 'claimed', attempt: 1 })
    expect(await inbox.once(once, async () => {})).toEqual({ status: 'handled' })
    const tables = (sql: ReturnType<typeof open>) =>
      valuesOf(sql, 'SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name')
    const migrated = open('migrated.db')
    await sqliteStore(migrated).migrate()
    await sqliteInbox(migrated).migrate()
    expect(tables(migrated)).toEqual(tables(db))
  })

  test('was not called: the error names it, and the call after it works', async () => {
    const db = open()
    const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
    const lease = { key: 'k', token: 'a' }
    const missing = /"tix_webhooks" is missing: run store\.migrate\(\)/
    await expectUnavailable(claim(store, 'k', 'a'), missing)
    await expectUnavailable(store.renew(lease, 1), missing)
    await expectUnavailable(store.complete(lease, 1), missing)
    await expectUnavailable(store.release(lease), missing)
    await expectUnavailable(store.purge(), missing)
    const missingInbox = /"tix_webhooks_inbox" is missing: run inbox\.migrate\(\)/
    await expectUnavailable(
      inbox.once(once, async () => expect.fail('It ran.')),
      missingInbox,
    )
    await expectUnavailable(inbox.purge(), missingInbox)

    await store.migrate()
    await inbox.migrate()
    expect(await claim(store, 'k', 'a')).toEqual({ status: 'claimed', attempt: 1 })
    expect(await inbox.once(once, async () => {})).toEqual({ status: 'handled' })
  })

  test('finds an index for what purge looks for', async () => {
    const db = open()
    await sqliteStore(db).migrate()
    const plan = db
      .prepare(
        'EXPLAIN QUERY PLAN SELECT key FROM tix_webhooks WHERE expires_at <= 1 ORDER BY expires_at LIMIT 5',
      )
      .all()
    expect(JSON.stringify(plan)).toMatch(/USING (COVERING )?INDEX tix_webhooks_expires_at/)
  })

  describe('over a table of other columns', () => {
    const REST = 'state TEXT, attempt INTEGER, token TEXT, lease_until INTEGER, expires_at INTEGER'
    const FOREIGN: [what: string, sql: string, lacks: RegExp][] = [
      [
        'of an older version',
        '(key TEXT PRIMARY KEY, state TEXT, attempt INTEGER, expires_at INTEGER)',
        /without token, lease_until/,
      ],
      [
        'without the column of its index',
        '(key TEXT PRIMARY KEY, state INTEGER)',
        /without attempt, token, lease_until, expires_at/,
      ],
      [
        'of another app',
        '(id INTEGER PRIMARY KEY, url TEXT)',
        /without key, state, attempt, token, lease_until, expires_at/,
      ],
      ['without a primary key', `(key TEXT, ${REST})`, /without PRIMARY KEY \(key\), so/],
      [
        'with another column in its primary key',
        `(key TEXT, ${REST}, PRIMARY KEY (key, token))`,
        /without PRIMARY KEY \(key\), so/,
      ],
    ]

    test.each(FOREIGN)('%s names what it lacks, and leaves it as it is', async (_, columns, lacks) => {
      const db = open()
      db.exec(`CREATE TABLE tix_webhooks ${columns}`)
      const store = sqliteStore(db)
      await expectUnavailable(store.migrate(), lacks)
      await expectUnavailable(store.migrate(), /Rename it, or choose another name with the table option/)
      expect(rowOf(db, "SELECT sql FROM sqlite_master WHERE name = 'tix_webhooks'").sql).toContain(columns)
    })

    test.each(FOREIGN)('%s, a claim says that it is of another version', async (_, columns) => {
      const db = open()
      db.exec(`CREATE TABLE tix_webhooks ${columns}`)
      const of =
        /"tix_webhooks" was created by another version or another program: store\.migrate\(\) lists the differences/
      await expectUnavailable(claim(sqliteStore(db), 'k', 'a'), of)
    })

    test("that is the store's, the inbox says so, and the other way round", async () => {
      const db = open()
      await sqliteStore(db).migrate()
      const inbox = sqliteInbox(db, { table: 'tix_webhooks' })
      await expectUnavailable(inbox.migrate(), /a table "tix_webhooks" without handled_at/)
      const of = /"tix_webhooks" was created by another version or another program: inbox\.migrate\(\) lists/
      await expectUnavailable(
        inbox.once(once, async () => {}),
        of,
      )
      await sqliteInbox(db).migrate()
      const store = sqliteStore(db, { table: 'tix_webhooks_inbox' })
      await expectUnavailable(store.migrate(), /without state, attempt, token, lease_until/)
    })
  })
})
