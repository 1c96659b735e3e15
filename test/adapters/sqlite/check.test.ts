import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe, expect, test } from 'vitest'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { valuesOf } from '../../support/sqlite-open.js'
import { expectUnavailable } from '../../support/sqlite-rejections.js'

const CHECKED = [
  { name: 'store', table: 'tix_webhooks', make: sqliteStore },
  { name: 'inbox', table: 'tix_webhooks_inbox', make: sqliteInbox },
] as const

onEachDriver('the check of SQLite', ({ open, driver }) => {
  describe.each(CHECKED)('as $name', ({ table, make }) => {
    /** A database with the table. */
    function migrated() {
      const db = open()
      db.exec(make(db).ddl)
      return db
    }

    test('resolves if all is there, and changes nothing', async () => {
      const db = migrated()
      const checked = make(db)
      await checked.check()
      // It changes with each commit of another connection.
      const watching = open()
      const before = valuesOf(watching, 'PRAGMA data_version')
      await checked.check()
      expect(valuesOf(watching, 'PRAGMA data_version')).toEqual(before)
      expect(valuesOf(db, `SELECT key FROM ${table}`)).toEqual([])
    })

    test('does not wait for another process that writes, and leaves busy_timeout as it was', async () => {
      const db = migrated()
      db.exec('PRAGMA busy_timeout = 60000')
      const checked = make(db)
      await checked.check()
      const writing = open()
      writing.exec('BEGIN IMMEDIATE')
      await checked.check()
      writing.exec('ROLLBACK')
      expect(valuesOf(db, 'PRAGMA busy_timeout')).toEqual([60_000])
    })

    const OTHER_TABLE =
      /was created by another version or another program: \w+\.migrate\(\) lists the differences/
    const READ_ONLY = /^This SQLite database is read-only/
    test.each<[string, string, RegExp]>([
      ['there is no table', `DROP TABLE ${table}`, /^The table ".*" is missing: run \w+\.migrate/],
      [
        'a column is missing',
        `DROP TABLE ${table}; CREATE TABLE ${table} (key TEXT PRIMARY KEY, state TEXT)`,
        OTHER_TABLE,
      ],
      [
        'the key is not unique',
        `ALTER TABLE ${table} RENAME TO old; CREATE TABLE ${table} AS SELECT * FROM old`,
        OTHER_TABLE,
      ],
      ['the connection is only for queries', 'PRAGMA query_only = ON', READ_ONLY],
      [
        'other code has begun a transaction on the connection',
        'BEGIN',
        /in a transaction that other code began/,
      ],
    ])('rejects if %s, also after it has resolved', async (_, statements, message) => {
      const db = migrated()
      const checked = make(db)
      await checked.check()
      db.exec(statements)
      await expectUnavailable(checked.check(), message)
      await expectUnavailable(make(db).check(), message)
    })

    test.skipIf(driver === 'libsql')('rejects if the file is opened for reading', async () => {
      const writing = migrated()
      await make(writing).check()
      writing.close()
      const checked = make(open('app.db', driver === 'node:sqlite' ? { readOnly: true } : { readonly: true }))
      await expectUnavailable(checked.check(), READ_ONLY)
      expect(await checked.isHandled('k')).toBe(false)
    })

    test('rejects if the database is closed', async () => {
      const db = migrated()
      const checked = make(db)
      await checked.check()
      db.close()
      const message = /^The database is closed: drain the receiver before you close it/
      await expectUnavailable(checked.check(), message)
      await expectUnavailable(checked.isHandled('k'), message)
    })
  })

  test('of an inbox does not ask for the table of isNewest, which not every app has', async () => {
    const db = open()
    const inbox = sqliteInbox(db)
    await inbox.migrate()
    db.exec('DROP TABLE tix_webhooks_inbox_newest')
    await inbox.check()
  })
})
