import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { claim, handle } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import type { TestDatabase } from '../../support/sqlite-open.js'
import { expectUnavailable } from '../../support/sqlite-rejections.js'

const runs = async (): Promise<void> => expect.fail('It ran.')
const once = { key: 'k', retainMs: 60_000 }

onEachDriver('a database that fails', ({ open }) => {
  async function migrated(db: TestDatabase = open()) {
    const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
    await store.migrate()
    await inbox.migrate()
    return { db, store, inbox }
  }

  test('that is read-only refuses what it cannot keep, and says so', async () => {
    const { db, store, inbox } = await migrated()
    await handle(store, 'k')
    db.exec('PRAGMA query_only = ON')
    const lease = { key: 'k', token: 'handler' }
    const message = /SQLite database is read-only: open it for writing/
    await expectUnavailable(claim(store, 'new', 'a'), message)
    await expectUnavailable(claim(store, 'k', 'a'), message)
    await expectUnavailable(store.complete(lease, 1_000), message)
    await expectUnavailable(store.release({ key: 'new', token: 'a' }), message)
    await expectUnavailable(store.renew(lease, 1_000), message)
    await expectUnavailable(store.purge(), message)
    await expectUnavailable(
      inbox.once(once, async () => {}),
      message,
    )
    db.exec('PRAGMA query_only = OFF')
    expect(await claim(store, 'new', 'a')).toEqual({ status: 'claimed', attempt: 1 })
  })

  test('that is closed while it was in use says so', async () => {
    const { db, store, inbox } = await migrated()
    await handle(store, 'k')
    await inbox.once(once, async () => {})
    db.close()
    const message = /The database is closed: drain the receiver before you close it/
    await expectUnavailable(claim(store, 'k', 'a'), message)
    await expectUnavailable(store.complete({ key: 'k', token: 'handler' }, 1_000), message)
    await expectUnavailable(inbox.once(once, runs), message)
  })

  test('to a connection in a transaction of other code: nothing is recorded that they may roll back', async () => {
    const { db, store } = await migrated()
    await claim(store, 'k', 'a')
    db.exec('BEGIN')
    const message = /is in a transaction that other code began: give tix-webhooks a connection of its own/
    await expectUnavailable(claim(store, 'new', 'a'), message)
    await expectUnavailable(store.complete({ key: 'k', token: 'a' }, 60_000), message)
    db.exec('ROLLBACK')
    expect(await claim(store, 'new', 'b')).toEqual({ status: 'claimed', attempt: 1 })
    expect(await store.complete({ key: 'k', token: 'a' }, 60_000)).toBe(true)
  })

  test('whose first call comes within a transaction of other code says so, and then works', async () => {
    const made = open()
    made.exec(sqliteStore(made).ddl + sqliteInbox(made).ddl)
    made.close()
    for (const setting of ['PRAGMA synchronous = OFF', 'PRAGMA synchronous = FULL']) {
      const db = open()
      db.exec(setting)
      const inbox = sqliteInbox(db)
      db.exec('BEGIN')
      const message = /is in a transaction that other code began: give tix-webhooks a connection of its own/
      await expectUnavailable(
        inbox.once({ ...once, key: setting }, async () => {}),
        message,
      )
      db.exec('ROLLBACK')
      expect(await inbox.once({ ...once, key: setting }, async () => {})).toEqual({ status: 'handled' })
    }
  })

  test('that is full says so, and that nothing was claimed', async () => {
    const { db, store } = await migrated()
    const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number }
    db.exec(`PRAGMA max_page_count = ${pages}`)
    const claimAll = async (): Promise<void> => {
      for (let i = 0; i < 1_000; i++) await claim(store, `${i}`.padEnd(255, '-'), 'a')
    }
    await expectUnavailable(claimAll(), /is the disk full/)
  })
})

test('a database of an asynchronous driver is refused with the names of those that fit', async () => {
  const { default: AsyncDatabase } = await import('libsql/promise')
  const db = new AsyncDatabase(':memory:', {}) as unknown as TestDatabase
  for (const part of [sqliteStore(db), sqliteInbox(db)]) {
    const error = await part.migrate().catch((reason: unknown) => reason)
    expect(error).toHaveProperty(
      'message',
      expect.stringMatching(/synchronous.*better-sqlite3, libsql or node:sqlite/),
    )
  }
  db.close()
})
