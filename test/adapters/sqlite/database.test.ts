import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { claim, handle } from '../../support/sqlite-claims.js'
import { listening, onEachDriver } from '../../support/sqlite-drivers.js'
import { openDatabase, rowOf, type TestDatabase, valuesOf } from '../../support/sqlite-open.js'
import { expectUnavailable } from '../../support/sqlite-rejections.js'

/** How the connection is set, once it has read what the file says. */
function settings(db: TestDatabase) {
  rowOf(db, 'SELECT count(*) FROM sqlite_master')
  return {
    ...rowOf(db, 'PRAGMA journal_mode'),
    ...rowOf(db, 'PRAGMA synchronous'),
    busy_timeout: rowOf(db, 'PRAGMA busy_timeout').timeout,
  }
}

onEachDriver('the connection', ({ open, path, driver }) => {
  const OURS = { journal_mode: 'wal', synchronous: 2, busy_timeout: 2_000 }

  /** A database as a driver without a busy timeout opens it. */
  function impatient(file?: string): TestDatabase {
    const db = open(file)
    db.exec('PRAGMA busy_timeout = 0')
    return db
  }

  test('is not touched until the first call', () => {
    const db = impatient()
    sqliteStore(db)
    sqliteInbox(db)
    expect(settings(db)).toMatchObject({ journal_mode: 'delete', busy_timeout: 0 })
  })

  test.each([
    ['store.migrate', (db: TestDatabase) => sqliteStore(db).migrate()],
    ['inbox.migrate', (db: TestDatabase) => sqliteInbox(db).migrate()],
  ])('is in WAL, waits for others and syncs each commit after %s', async (_, migrate) => {
    const db = impatient()
    await migrate(db)
    expect(settings(db)).toEqual(OURS)
    await migrate(db)
    expect(settings(db)).toEqual(OURS)
  })

  const once = async (db: TestDatabase, key: string | null): Promise<void> => {
    await sqliteInbox(db).once({ key, retainMs: 60_000 }, async (tx) => tx.commit(() => {}))
  }
  test.each([
    ['a claim', async (db: TestDatabase) => void (await claim(sqliteStore(db), 'k', 'a'))],
    ['a release', async (db: TestDatabase) => void (await sqliteStore(db).release({ key: 'k', token: 'a' }))],
    ['a purge', async (db: TestDatabase) => void (await sqliteStore(db).purge())],
    ['a delivery to the inbox', (db: TestDatabase) => once(db, 'k')],
    ['a delivery without a key', (db: TestDatabase) => once(db, null)],
  ])('is so after %s too, where another process has migrated, or a tool', async (_, call) => {
    const before = open('made-elsewhere.db')
    before.exec(sqliteStore(before).ddl + sqliteInbox(before).ddl)
    before.close()
    const db = impatient('made-elsewhere.db')
    await call(db)
    expect(settings(db)).toEqual(OURS)
  })

  test('keeps the busy_timeout of its user', async () => {
    for (const timeout of [1, 777, 60_000]) {
      const db = open()
      db.exec(`PRAGMA busy_timeout = ${timeout}`)
      await sqliteStore(db).migrate()
      await sqliteInbox(db).migrate()
      expect(settings(db)).toEqual({ ...OURS, busy_timeout: timeout })
    }
  })

  test.each([
    ['OFF', 0, 2],
    ['NORMAL', 1, 2],
    ['FULL', 2, 2],
    ['EXTRA', 3, 3],
  ])('of a user who set synchronous = %s (%i) is at %i', async (name, _, expected) => {
    const db = impatient()
    db.exec(`PRAGMA synchronous = ${name}`)
    await sqliteStore(db).migrate()
    expect(settings(db)).toEqual({ ...OURS, synchronous: expected })
  })

  test.each(['truncate', 'persist', 'memory', 'off'])(
    'to a file in journal mode %s is in WAL',
    async (mode) => {
      for (const make of [sqliteStore, sqliteInbox]) {
        const db = impatient(`${make.name}.db`)
        db.exec(`PRAGMA journal_mode = ${mode}`)
        expect(settings(db)).toMatchObject({ journal_mode: mode })
        await make(db).migrate()
        expect(settings(db)).toEqual(OURS)
      }
    },
  )

  test.each([
    ['journal_mode = OFF', OURS],
    ['synchronous = NORMAL', OURS],
    ['synchronous = OFF', OURS],
    ['synchronous = EXTRA', { ...OURS, synchronous: 3 }],
  ])('whose app sets %s after the first call is durable at the next one', async (pragma, expected) => {
    const db = impatient()
    const store = sqliteStore(db)
    await store.migrate()
    await sqliteInbox(db).migrate()
    for (const call of [() => claim(store, 'k', 'a'), () => once(db, 'k'), () => once(db, null)]) {
      db.exec(`PRAGMA ${pragma}`)
      await call()
      expect(settings(db)).toEqual(expected)
    }
  })

  test('to a file that cannot be in WAL is refused, with the reason', async () => {
    // A file: URL is a file's name to better-sqlite3.
    if (driver === 'better-sqlite3') return
    const db = openDatabase(driver, `file:${path()}?nolock=1`)
    try {
      await expectUnavailable(
        sqliteStore(db).migrate(),
        /stays in the journal mode delete and cannot be switched/,
      )
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
    const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
    await store.migrate()
    await inbox.migrate()
    await handle(store, 'k')
    expect(await claim(store, 'k', 'other')).toEqual({ status: 'completed' })
    expect(await inbox.once({ key: 'k', retainMs: 1_000 }, async () => {})).toEqual({ status: 'handled' })
    expect(settings(db)).toEqual({ ...OURS, journal_mode: expect.not.stringMatching('wal') })
    db.close()
  })

  test('is asked for one statement by each method that changes something', async () => {
    const { db, statements } = listening(open())
    const store = sqliteStore(db)
    await store.migrate()
    await claim(store, 'first', 'a')
    const lease = { key: 'k', token: 'a' }
    const refused = /^(INSERT|SELECT)/
    const calls: [string, RegExp, () => Promise<unknown>][] = [
      ['claim', /^INSERT INTO "tix_webhooks"/, () => claim(store, 'k', 'a')],
      ['a claim of what is in flight', refused, () => claim(store, 'k', 'b')],
      ['renew', /^UPDATE "tix_webhooks"/, () => store.renew(lease, 60_000)],
      ['release', /^UPDATE/, () => store.release(lease)],
      ['a takeover', /^INSERT/, () => claim(store, 'k', 'b')],
      ['complete', /^INSERT/, () => store.complete({ ...lease, token: 'b' }, 60_000)],
      ['a claim of what is completed', refused, () => claim(store, 'k', 'c')],
      ['purge', /^DELETE FROM "tix_webhooks"/, () => store.purge()],
    ]
    for (const [name, sql, call] of calls) {
      statements.length = 0
      await call()
      // Nobody sees a transaction half done, and its settings are read before; a claim that is refused may look why.
      const within = statements.filter(
        (statement) => !/^(PRAGMA \w+|BEGIN IMMEDIATE|COMMIT)$/.test(statement),
      )
      expect(within.length, name).toBeLessThanOrEqual(sql === refused ? 2 : 1)
      for (const statement of within) expect(statement, name).toMatch(sql)
    }
  })

  test('is asked by the inbox for a look at a duplicate, and for one transaction otherwise', async () => {
    const { db, statements } = listening(open())
    const inbox = sqliteInbox(db)
    await inbox.migrate()
    const deliver = (key: string | null) => inbox.once({ key, retainMs: 60_000 }, async () => {})
    await deliver('first')
    const asked = async (key: string | null): Promise<(string | undefined)[]> => {
      statements.length = 0
      await deliver(key)
      return statements.map((sql) => sql.split(/\s/)[0])
    }
    const settingsRead = ['PRAGMA', 'PRAGMA']
    const kept = ['SAVEPOINT', 'RELEASE', 'COMMIT']
    expect(await asked('k')).toEqual(['SELECT', ...settingsRead, 'BEGIN', 'INSERT', ...kept])
    expect(await asked('k')).toEqual(['SELECT'])
    expect(await asked(null)).toEqual([...settingsRead, 'BEGIN', ...kept])
  })
})
