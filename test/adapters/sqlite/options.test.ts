import { memoryStore } from 'tix-webhooks'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe, expect, test } from 'vitest'
import { claim, request } from '../../support/sqlite-claims.js'
import { listening, onEachDriver } from '../../support/sqlite-drivers.js'
import { rowOf, valuesOf } from '../../support/sqlite-open.js'

/** With databases and options that the types would refuse, as plain JavaScript may pass. */
const FACTORIES = [
  ['sqliteStore', sqliteStore as unknown as (db: unknown, options?: unknown) => unknown],
  ['sqliteInbox', sqliteInbox as unknown as (db: unknown, options?: unknown) => unknown],
] as const

/** What has the shape of a database; nothing is asked of it in a factory. */
const untouched = {
  prepare: () => expect.fail('The factory prepared a statement.'),
  exec: () => expect.fail('The factory ran a statement.'),
}

describe.each(FACTORIES)('%s', (_, factory) => {
  test.each([
    ['undefined', undefined],
    ['null', null],
    ['a path', 'webhooks.db'],
    ['a number', 7],
    ['an empty object', {}],
    ['a pool of pg', { query: async () => ({ rows: [] }), connect: async () => {} }],
    ['a client of Redis', { sendCommand: async () => 'OK', eval: async () => 1 }],
    ['a store', memoryStore()],
    ['a function, as postgres.js is', async () => []],
    ['what can only prepare', { prepare: () => {} }],
    ['what can only exec', { exec: () => {} }],
  ])('refuses %s, and names the drivers', (_, db) => {
    expect(() => factory(db)).toThrow(TypeError)
    expect(() => factory(db)).toThrow(/^db must be .* better-sqlite3, libsql or node:sqlite/)
  })

  test.each([
    '',
    ' ',
    'a b',
    'main.webhooks',
    'web"hooks',
    'x"; DROP TABLE orders; --',
    "x'",
    'x;y',
    '1st',
    'tab-le',
    'tablé',
    'line\nbreak',
    'end\n',
    'nul\0',
    'x'.repeat(49),
    7,
    ['webhooks'],
    { toString: () => 'webhooks' },
  ])('refuses the table name %j', (table) => {
    expect(() => factory(untouched, { table })).toThrow(TypeError)
    expect(() => factory(untouched, { table })).toThrow(
      /^table must be a name of 1 to 48 letters, digits and _/,
    )
  })

  test('refuses a table name that SQLite keeps for itself', () => {
    expect(() => factory(untouched, { table: 'sqlite_webhooks' })).toThrow(/sqlite_/)
    expect(() => factory(untouched, { table: 'SQLite_Webhooks' })).toThrow(/sqlite_/)
  })

  test.each([
    ['misspelt', { tabel: 'webhooks' }, /tabel/],
    ["of Redis's", { prefix: 'x' }, /prefix/],
    ['an own clock that is not a function', { now: 1 }, /now must be a function/],
    ['a clock that is a Date', { now: new Date(0) }, /now must be a function/],
    ['a purge at once', { purgeEverySeconds: 0 }, /purgeEverySeconds must be .* above 0/],
    ['a purge of NaN seconds', { purgeEverySeconds: Number.NaN }, /purgeEverySeconds/],
    ['a purge that no timer can wait for', { purgeEverySeconds: 3_000_000 }, /purgeEverySeconds .* at most/],
    ['a purge of text', { purgeEverySeconds: '300' }, /purgeEverySeconds/],
  ])('refuses an option that is %s', (_, options, message) => {
    expect(() => factory(untouched, options)).toThrow(TypeError)
    expect(() => factory(untouched, options)).toThrow(message)
  })

  test('asks nothing of the database, so that it can be made anywhere', () => {
    expect(factory(untouched, { table: 'a'.repeat(48), purgeEverySeconds: 1 })).toHaveProperty('migrate')
  })
})

onEachDriver('the table option', ({ open }) => {
  test.each(['Orders_2', '_', 'select', 'x'.repeat(48)])('names the table %s', async (table) => {
    const db = open()
    const store = sqliteStore(db, { table })
    const inbox = sqliteInbox(db, { table: `i${table.slice(1)}` })
    await store.migrate()
    await inbox.migrate()
    expect(await claim(store, 'k', 'a')).toEqual({ status: 'claimed', attempt: 1 })
    expect(await inbox.once({ key: 'k', retainMs: 1_000 }, async () => {})).toBe('handled')
    expect(rowOf(db, `SELECT key, state FROM "${table}"`)).toEqual({ key: 'k', state: 'running' })
    expect(valuesOf(db, "SELECT name FROM sqlite_master WHERE name LIKE 'tix%'")).toEqual([])
  })

  test('keeps two stores in one database apart', async () => {
    const db = open()
    const [one, two] = [sqliteStore(db, { table: 'one' }), sqliteStore(db, { table: 'two' })]
    await one.migrate()
    await two.migrate()
    await claim(one, 'k', 'a')
    expect(await claim(two, 'k', 'b')).toEqual({ status: 'claimed', attempt: 1 })
  })
})

onEachDriver('a call that the contract does not allow', ({ open }) => {
  /** A store and an inbox that may not touch the database. */
  function untouchable() {
    const { db, statements } = listening(open())
    return { store: sqliteStore(db), inbox: sqliteInbox(db), statements }
  }

  async function expectRefused(call: Promise<unknown>, message: RegExp): Promise<void> {
    const error = await call.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toHaveProperty('message', expect.stringMatching(message))
  }

  const runs = async () => expect.fail('It ran.')

  test.each([
    ['an empty key', '', /^key must be 1 to 255 characters/],
    ['a key of 256 characters', 'x'.repeat(256), /^key must be 1 to 255 .* use a hash/],
    ['a key of 10 KB', 'x'.repeat(10_240), /^key must be 1 to 255 .* use a hash/],
    ['a key with NUL', 'a\0b', /^key must be printable ASCII/],
    ['a key with a line break at its end', 'a\n', /^key must be printable ASCII/],
    ['a key that is not ASCII', 'é', /^key must be printable ASCII/],
    ['a key that is a number', 7 as unknown as string, /^key must be a string/],
  ])('with %s is refused before anything is asked of the database', async (_, key, message) => {
    const { store, inbox, statements } = untouchable()
    await expectRefused(store.claim(request(key, 't')), message)
    await expectRefused(store.renew({ key, token: 't' }, 1), message)
    await expectRefused(store.complete({ key, token: 't' }, 1), message)
    await expectRefused(store.release({ key, token: 't' }), message)
    await expectRefused(inbox.once({ key, retainMs: 1 }, runs), message)
    expect(statements).toEqual([])
  })

  test.each([
    ['an empty token', '', /^token must be 1 to 64 characters/],
    ['a token of 65 characters', 'x'.repeat(65), /^token must be 1 to 64/],
    ['a token with a tab', 'a\tb', /^token must be printable ASCII/],
    ['no token', undefined as unknown as string, /^token must be a string/],
  ])('with %s is refused before anything is asked of the database', async (_, token, message) => {
    const { store, statements } = untouchable()
    await expectRefused(store.claim(request('k', token)), message)
    await expectRefused(store.renew({ key: 'k', token }, 1), message)
    await expectRefused(store.complete({ key: 'k', token }, 1), message)
    await expectRefused(store.release({ key: 'k', token }), message)
    expect(statements).toEqual([])
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '1', undefined])(
    'with a duration of %s is refused before anything is asked of the database',
    async (given) => {
      const ms = given as number
      const lease = { key: 'k', token: 't' }
      const { store, inbox, statements } = untouchable()
      await expectRefused(store.claim({ ...lease, leaseMs: ms, retainMs: 1 }), /^leaseMs must be .* above 0/)
      await expectRefused(store.claim({ ...lease, leaseMs: 1, retainMs: ms }), /^retainMs must be .* above 0/)
      await expectRefused(store.renew(lease, ms), /^leaseMs/)
      await expectRefused(store.complete(lease, ms), /^retainMs/)
      await expectRefused(inbox.once({ key: 'k', retainMs: ms }, runs), /^retainMs/)
      expect(statements).toEqual([])
    },
  )

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '10', null])(
    'a purge with a limit of %s is refused before anything is asked of the database',
    async (limit) => {
      const { store, inbox, statements } = untouchable()
      for (const { purge } of [store, inbox]) {
        await expectRefused(purge({ limit: limit as number }), /^limit must be a whole number of at least 1/)
      }
      expect(statements).toEqual([])
    },
  )

  test('begins beyond the longest key and token and the shortest durations', async () => {
    const store = sqliteStore(open())
    await store.migrate()
    const longest = { key: `~${' '.repeat(253)}!`, token: '~'.repeat(64) }
    expect(await store.claim({ ...longest, leaseMs: 60_000, retainMs: 60_000 })).toHaveProperty('attempt', 1)
    expect(await store.complete(longest, 60_000)).toBe(true)
    expect(await store.claim(request('k', 't', { leaseMs: 1e-9 }))).toHaveProperty('attempt', 1)
  })
})
