import { copyFileSync, mkdirSync } from 'node:fs'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test, vi } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { expectUnavailable } from '../../support/rejections.js'
import { claim, handle } from '../../support/sqlite-claims.js'
import { listening, onEachDriver } from '../../support/sqlite-drivers.js'
import { openDatabase, rowOf, type TestDatabase, valuesOf } from '../../support/sqlite-open.js'

/** How the connection is set, once it has read what the file says. */
function settings(db: TestDatabase) {
  rowOf(db, 'SELECT count(*) FROM sqlite_master')
  return {
    ...rowOf(db, 'PRAGMA journal_mode'),
    ...rowOf(db, 'PRAGMA synchronous'),
    busy_timeout: rowOf(db, 'PRAGMA busy_timeout').timeout,
  }
}

const once = (db: TestDatabase, key: string | null) =>
  sqliteInbox(db).once({ key, retainMs: 60_000 }, async (tx) => tx.commit(() => {}))

onEachDriver('the connection', ({ open, path, driver }) => {
  const OURS = { journal_mode: 'wal', synchronous: 2, busy_timeout: 2_000 }

  /** A database as a driver without a busy timeout opens it. */
  function impatient(file?: string): TestDatabase {
    const db = open(file)
    db.exec('PRAGMA busy_timeout = 0')
    return db
  }

  async function migrated(db: TestDatabase = open()) {
    const options = { purgeEverySeconds: false } as const
    const [store, inbox] = [sqliteStore(db, options), sqliteInbox(db, options)]
    await inbox.migrate()
    return { db, store, inbox }
  }

  const CALLS: [string, (db: TestDatabase) => Promise<unknown>][] = [
    ['store.migrate', (db) => sqliteStore(db).migrate()],
    ['inbox.migrate', (db) => sqliteInbox(db).migrate()],
    ['a claim', (db) => claim(sqliteStore(db), 'k', 'a')],
    ['a release', (db) => sqliteStore(db).release({ key: 'k', token: 'a' })],
    ['a purge', (db) => sqliteStore(db).purge()],
    ['a delivery to the inbox', (db) => once(db, 'k')],
    ['a delivery without a key', (db) => once(db, null)],
  ]
  test.each(CALLS)('waits for others, is in WAL and syncs each commit from %s on', async (_, call) => {
    const before = open()
    before.exec(sqliteInbox(before).ddl)
    before.close()
    const db = impatient()
    sqliteStore(db)
    sqliteInbox(db)
    expect(settings(db)).toMatchObject({ journal_mode: 'delete', busy_timeout: 0 })
    await call(db)
    expect(settings(db)).toEqual(OURS)
  })

  test.each([
    ['busy_timeout = 1', { busy_timeout: 1 }],
    ['busy_timeout = 60000', { busy_timeout: 60_000 }],
    ['synchronous = OFF', {}],
    ['synchronous = NORMAL', {}],
    ['synchronous = EXTRA', { synchronous: 3 }],
    ['journal_mode = truncate', {}],
    ['journal_mode = persist', {}],
    ['journal_mode = memory', {}],
    ['journal_mode = off', {}],
  ])('keeps no setting of its user that is less durable: %s', async (pragma, kept) => {
    const db = impatient()
    db.exec(`PRAGMA ${pragma}`)
    await migrated(db)
    expect(settings(db)).toEqual({ ...OURS, ...kept })
    // Also if it is set after the first call.
    const store = sqliteStore(db)
    for (const call of [() => claim(store, 'k', 'a'), () => once(db, 'i'), () => once(db, null)]) {
      db.exec(`PRAGMA ${pragma}`)
      await call()
      expect(settings(db)).toEqual({ ...OURS, ...kept })
    }
  })

  // A file: URL is a file's name to better-sqlite3.
  test.skipIf(driver === 'better-sqlite3')('to a file that cannot be in WAL is refused', async () => {
    const db = openDatabase(driver, `file:${path()}?nolock=1`)
    try {
      const stays = /stays in the journal mode delete and cannot be switched/
      await expectUnavailable(sqliteStore(db).migrate(), stays)
      db.exec('PRAGMA journal_mode = MEMORY')
      await expectUnavailable(sqliteInbox(db).migrate(), /stays in the journal mode memory.+killed process/)
      expect(valuesOf(db, 'SELECT name FROM sqlite_master')).toEqual([])
    } finally {
      db.close()
    }
  })

  test.each([':memory:', ''])('to a database in memory, of the name %j, works', async (name) => {
    const db = openDatabase(driver, name)
    db.exec('PRAGMA busy_timeout = 0')
    const { store, inbox } = await migrated(db)
    await handle(store, 'k')
    expect(await claim(store, 'k', 'other')).toEqual({ status: 'completed' })
    expect(await inbox.once({ key: 'k', retainMs: 1_000 }, async () => {})).toEqual({ status: 'duplicate' })
    expect(settings(db)).toEqual({ ...OURS, journal_mode: expect.not.stringMatching('wal') })
    db.close()
  })

  test('is asked for one statement by each method that changes something', async () => {
    const { db, statements } = listening(open())
    const { store, inbox } = await migrated(db)
    await claim(store, 'first', 'a')
    const deliver = (key: string | null) => inbox.once({ key, retainMs: 60_000 }, async () => {})
    await deliver('other')
    const lease = { key: 'k', token: 'a' }
    const kept = ['SAVEPOINT', 'RELEASE']
    const calls: [string, string[], () => Promise<unknown>][] = [
      ['claim', ['INSERT'], () => claim(store, 'k', 'a')],
      // It looks why.
      ['a claim of what is in flight', ['INSERT', 'SELECT'], () => claim(store, 'k', 'b')],
      ['renew', ['UPDATE'], () => store.renew(lease, 60_000)],
      ['release', ['UPDATE'], () => store.release(lease)],
      ['a takeover', ['INSERT'], () => claim(store, 'k', 'b')],
      ['complete', ['UPDATE'], () => store.complete({ ...lease, token: 'b' }, 60_000)],
      ['a claim of what is completed', ['INSERT', 'SELECT'], () => claim(store, 'k', 'c')],
      ['purge', ['DELETE'], () => store.purge()],
      ['a delivery', ['SELECT', 'INSERT', ...kept], () => deliver('new')],
      ['a duplicate', ['SELECT'], () => deliver('new')],
      ['a delivery without a key', kept, () => deliver(null)],
    ]
    for (const [name, expected, call] of calls) {
      statements.length = 0
      await call()
      // Nobody sees a transaction half done, and its settings are read before.
      const within = statements.filter((sql) => !/^(PRAGMA \w+( = OFF)?|BEGIN IMMEDIATE|COMMIT)$/.test(sql))
      expect(
        within.map((sql) => sql.split(/\s/)[0]),
        name,
      ).toEqual(expected)
      const settings = name === 'a duplicate' ? 0 : 2
      expect(statements.filter((sql) => sql.startsWith('PRAGMA')).length, name).toBe(settings)
    }
  })

  test('does not wait for another process in a check, and keeps its busy_timeout', async () => {
    const { db, store, inbox } = await migrated()
    db.exec('PRAGMA busy_timeout = 60000')
    open().exec('BEGIN IMMEDIATE')
    for (const part of [store, inbox]) await part.check()
    expect(valuesOf(db, 'PRAGMA busy_timeout')).toEqual([60_000])
  })

  test.skipIf(driver === 'libsql')('is refused by the check if the file is opened for reading', async () => {
    const { db } = await migrated()
    db.close()
    const readOnly = open('app.db', driver === 'node:sqlite' ? { readOnly: true } : { readonly: true })
    for (const part of [sqliteStore(readOnly), sqliteInbox(readOnly)]) {
      await expectUnavailable(part.check(), /^This SQLite database is read-only/)
      expect(await part.isHandled('k')).toBe(false)
    }
  })

  // The other processes are gone that wrote what is in its log: they may have died before they synced it.
  test.each<[string, (db: TestDatabase) => Promise<unknown>, unknown]>([
    ['a claim', (db) => claim(sqliteStore(db), 'k', 'b'), { status: 'completed' }],
    ['store.isHandled', (db) => sqliteStore(db).isHandled('k'), true],
    ['a delivery to the inbox', (db) => once(db, 'k'), { status: 'duplicate' }],
    ['keep', (db) => sqliteStore(db).keep(failedDelivery()), 'parked'],
  ])('syncs what it finds at the start before an answer rests on it: %s', async (_, call, answer) => {
    const { store } = await migrated()
    await handle(store, 'k')
    await store.keep(failedDelivery({ parkAfter: { attempts: 1 } }))
    const { db: second, statements } = listening(open())
    second.exec('PRAGMA synchronous = OFF')
    expect(await call(second)).toEqual(answer)
    const levels = statements.filter((sql) => /wal_checkpoint|synchronous/.test(sql))
    expect(levels.slice(2, 4)).toEqual(['PRAGMA synchronous = FULL', 'PRAGMA wal_checkpoint(PASSIVE)'])
    // The checkpoint has copied the synced log into the file.
    copyFileSync(path(), path('copy.db'))
    const copy = open('copy.db')
    const states = 'SELECT coalesce(failure, state) FROM tix_webhooks_events ORDER BY event_key'
    expect(valuesOf(copy, states)).toEqual(['handled', 'parked'])
    // Nothing to sync twice.
    statements.length = 0
    expect(await call(second)).toEqual(answer)
    expect(statements).not.toContainEqual(expect.stringMatching('checkpoint'))
  })

  // The build of better-sqlite3 has no shared cache.
  test.skipIf(driver === 'better-sqlite3')(
    'that shares a cache takes nothing uncommitted for handled',
    async () => {
      const shared = () => open(`file:${path()}?cache=shared`)
      const { db } = await migrated(shared())
      const other = shared()
      other.exec(`BEGIN IMMEDIATE;
        INSERT INTO tix_webhooks_events (event_key, state, token, attempt, lease_until, received_at, expires_at)
        VALUES ('k', 'handled', 't', 1, 0, 0, ${Date.now() + 60_000})`)
      for (const read of [
        () => once(db, 'k'),
        () => sqliteInbox(db).isHandled('k'),
        () => sqliteStore(db).isHandled('k'),
        () => claim(sqliteStore(db), 'k', 'b'),
      ]) {
        await expectUnavailable(read(), /one with the same shared cache, is in .*without cache=shared/)
      }
      other.exec('ROLLBACK')
      expect(await once(db, 'k')).toEqual({ status: 'handled' })
      expect(await sqliteStore(db).isHandled('k')).toBe(true)
    },
  )

  test('is refused by the check once another process holds it for longer than busy_timeout', async () => {
    const { db, store, inbox } = await migrated()
    db.exec('PRAGMA busy_timeout = 1000')
    const other = open()
    let ms = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => ms)
    const check = async (afterMs: number) => {
      ms += afterMs
      await inbox.check()
      await store.check()
    }
    other.exec('BEGIN IMMEDIATE')
    await check(0)
    await check(1_000)
    // Another transaction than before: it was free in between.
    other.exec('CREATE TABLE orders (id TEXT); COMMIT; BEGIN IMMEDIATE')
    await check(1_000)
    await expectUnavailable(check(1_001), /Another process held the database for longer than busy_timeout/)
    other.exec('ROLLBACK')
    await check(0)
    other.exec('BEGIN IMMEDIATE')
    await check(2_000)
    clock.mockRestore()
  })

  test('whose -wal cannot be opened, as in a folder that may not be written, is refused with advice', async () => {
    await migrated()
    copyFileSync(path(), path('sealed.db'))
    mkdirSync(path('sealed.db-wal'))
    const db = open('sealed.db')
    for (const call of [() => once(db, 'k'), () => sqliteStore(db).check(), () => sqliteInbox(db).check()]) {
      await expectUnavailable(call(), /^SQLite could not open the file, or its -wal and -shm beside it/)
    }
  })

  test('that waits for a switch to WAL in vain writes nothing in the mode that it is in', async () => {
    const db = open()
    db.exec('PRAGMA journal_mode = OFF; PRAGMA busy_timeout = 1; CREATE TABLE orders (id TEXT)')
    const reader = open()
    reader.exec('BEGIN')
    reader.prepare('SELECT * FROM orders').all()
    let ms = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
      ms += 1_000
      return ms
    })
    await expectUnavailable(sqliteStore(db).migrate(), /Another process held the database/)
    clock.mockRestore()
    reader.exec('COMMIT')
    expect(valuesOf(db, 'SELECT name FROM sqlite_master')).toEqual(['orders'])
    await migrated(db)
    expect(valuesOf(db, 'PRAGMA journal_mode')).toEqual(['wal'])
  })

  test('that met a lock, or a missing table, keeps nothing of that call for the next', async () => {
    const { db, store, inbox } = await migrated()
    db.exec('PRAGMA busy_timeout = 1')
    await once(db, 'handled')
    const writer = open()
    writer.exec('BEGIN IMMEDIATE')
    for (const call of [
      () => inbox.purge(),
      () => store.purge(),
      () => claim(store, 'failed', 'a'),
      () => store.release({ key: 'k', token: 'a' }),
    ]) {
      await expectUnavailable(call(), /Another process held the database/)
    }
    writer.exec('ROLLBACK')
    expect(await claim(store, 'after', 'c')).toEqual({ status: 'claimed', attempt: 1 })
    expect(valuesOf(db, 'SELECT event_key FROM tix_webhooks_events ORDER BY 1')).toEqual(['after', 'handled'])
    db.exec('ALTER TABLE tix_webhooks_events RENAME TO elsewhere')
    await expectUnavailable(once(db, 'handled'), /is missing/)
    db.exec('ALTER TABLE elsewhere RENAME TO tix_webhooks_events')
    expect(await once(db, 'new')).toEqual({ status: 'handled' })
    expect(await once(db, 'handled')).toEqual({ status: 'duplicate' })
  })

  const IN_OTHERS = /is in a transaction that other code began: give tix-webhooks a connection of its own/

  test('in a transaction of other code is refused: they may roll back what would be recorded', async () => {
    const { db, store, inbox } = await migrated()
    await claim(store, 'k', 'a')
    db.exec('BEGIN')
    await expectUnavailable(claim(store, 'new', 'a'), IN_OTHERS)
    await expectUnavailable(store.complete({ key: 'k', token: 'a' }, 60_000), IN_OTHERS)
    for (const part of [store, inbox]) await expectUnavailable(part.check(), IN_OTHERS)
    db.exec('ROLLBACK')
    expect(await claim(store, 'new', 'b')).toEqual({ status: 'claimed', attempt: 1 })
    expect(await store.complete({ key: 'k', token: 'a' }, 60_000)).toBe(true)
    // Also with the first call of a connection.
    for (const level of ['OFF', 'FULL']) {
      const other = open()
      other.exec(`PRAGMA synchronous = ${level}; BEGIN`)
      await expectUnavailable(once(other, level), IN_OTHERS)
      other.exec('ROLLBACK')
      expect(await once(other, level)).toEqual({ status: 'handled' })
    }
  })
})

test('a database of an asynchronous driver is refused with the names of those that fit', async () => {
  const { default: AsyncDatabase } = await import('libsql/promise')
  const db = new AsyncDatabase(':memory:', {}) as unknown as TestDatabase
  for (const part of [sqliteStore(db), sqliteInbox(db)]) {
    await expect(part.migrate()).rejects.toThrow(/synchronous.*better-sqlite3, libsql or node:sqlite/)
  }
  db.close()
})
