import { memoryStore } from 'tix-webhooks'
import { sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe, expect, test } from 'vitest'
import {
  notRefusedInputs,
  notRefusedLimits,
  notRefusedOnces,
  notRefusedRequests,
} from '../../support/invalid-inputs.js'
import { claim, request } from '../../support/sqlite-claims.js'
import { listening, onEachDriver } from '../../support/sqlite-drivers.js'
import { rowOf, valuesOf } from '../../support/sqlite-open.js'

/** The factories without types, because plain JavaScript may pass any database and options. */
const FACTORIES = [
  ['sqliteStore', sqliteStore as unknown as (db: unknown, options?: unknown) => unknown],
  ['sqliteInbox', sqliteInbox as unknown as (db: unknown, options?: unknown) => unknown],
  ['sqliteFailures', sqliteFailures as unknown as (db: unknown, options?: unknown) => unknown],
] as const

/** An object with the shape of a database, which a factory must not call. */
const untouched = {
  prepare: () => expect.fail('The factory prepared a statement.'),
  exec: () => expect.fail('The factory ran a statement.'),
}

describe.each(FACTORIES)('%s', (_, factory) => {
  test('refuses anything but a database, and names the drivers', () => {
    const others = [
      undefined,
      null,
      'webhooks.db',
      7,
      {},
      { query: async () => ({ rows: [] }), connect: async () => {} },
      memoryStore(),
      async () => [],
      { prepare: () => {} },
      { exec: () => {} },
    ]
    const told = /^db must be .* better-sqlite3, libsql or node:sqlite/
    expect(
      notRefusedInputs(
        factory,
        others.map((db): [unknown, RegExp] => [db, told]),
      ),
    ).toEqual([])
  })

  test('refuses invalid options', () => {
    const tables = ['', ' ', 'a b', 'main.webhooks', 'web"hooks', 'x"; DROP TABLE orders; --', "x'", 'x;y']
    const more = ['1st', 'tab-le', 'tablé', 'line\nbreak', 'end\n', 'nul\0', 'x'.repeat(49), 7, ['webhooks']]
    const rows: [options: object, message: RegExp][] = [
      ...[...tables, ...more, { toString: () => 'webhooks' }].map((table): [object, RegExp] => [
        { table },
        /^table must be a name of 1 to 48 letters, digits and _/,
      ]),
      [{ table: 'sqlite_webhooks' }, /sqlite_/],
      [{ table: 'SQLite_Webhooks' }, /sqlite_/],
      [{ tabel: 'webhooks' }, /tabel/],
      [{ prefix: 'x' }, /prefix/],
      [{ now: 1 }, /^now must be a function/],
      [{ now: new Date(0) }, /^now must be a function/],
      [{ purgeEverySeconds: 0 }, /^purgeEverySeconds must be .* above 0/],
      [{ purgeEverySeconds: 3_000_000 }, /^purgeEverySeconds .* at most/],
      [{ retentionSeconds: 86_400 }, /retentionSeconds/],
    ]
    expect(notRefusedInputs((options: object) => factory(untouched, options), rows)).toEqual([])
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
    expect(await inbox.once({ key: 'k', retainMs: 1_000 }, async () => {})).toEqual({ status: 'handled' })
    expect(rowOf(db, `SELECT key, state FROM "${table}"`)).toEqual({ key: 'k', state: 'running' })
    expect(valuesOf(db, "SELECT name FROM sqlite_master WHERE name LIKE 'tix%'")).toEqual([])
  })
})

onEachDriver('a call that the contract does not allow', ({ open }) => {
  test('is refused before it reaches the database', async () => {
    const { db, statements } = listening(open())
    const [store, inbox] = [sqliteStore(db), sqliteInbox(db)]
    expect(await notRefusedRequests(store)).toEqual([])
    expect(await notRefusedOnces(inbox)).toEqual([])
    expect([await notRefusedLimits(store), await notRefusedLimits(inbox)]).toEqual([[], []])
    expect(statements).toEqual([])
  })

  test('begins beyond the longest key and token and the shortest durations', async () => {
    const store = sqliteStore(open())
    await store.migrate()
    const longest = { key: `~${' '.repeat(253)}!`, token: '~'.repeat(64) }
    expect(await store.claim({ ...longest, leaseMs: 60_000, retainMs: 60_000 })).toHaveProperty('attempt', 1)
    expect(await store.complete(longest, 60_000)).toBe(true)
    expect(await store.claim(request('k', 't', { leaseMs: 1e-9 }))).toHaveProperty('attempt', 1)
  })
})
