import { type D1Database, d1Store } from 'tix-webhooks/d1'
import { describe, expect, test } from 'vitest'
import { edgeStage, testEdgeStore } from '../../support/edge-stores.js'

const stage = edgeStage()
const { ask } = stage

/** Runs statements as one batch, and resolves to their rows or to the text of the error. */
const batch = (...statements: string[]): Promise<unknown> =>
  ask(`/sql?${statements.map((sql) => `sql=${encodeURIComponent(sql)}`).join('&')}`)

const COLUMNS = 'key TEXT, state TEXT, attempt INTEGER, token TEXT, lease_until INTEGER, expires_at INTEGER'

describe('d1Store', () => {
  testEdgeStore('d1', stage)

  test('relies on a batch that is undone if a statement of it fails', async () => {
    await batch('CREATE TABLE promised (id TEXT PRIMARY KEY)')
    const insert = "INSERT INTO promised VALUES ('a')"
    expect(await batch(insert, insert)).toMatch(/UNIQUE constraint failed/)
    expect(await batch('SELECT id FROM promised')).toEqual([[]])
    expect(await batch(insert, 'SELECT id FROM nowhere')).toMatch(/no such table/)
    expect(await batch('SELECT id FROM promised')).toEqual([[]])
  })

  test('purges the records past their retention, oldest first, and no others', async () => {
    const record = (key: string, hours: number): string =>
      `INSERT INTO tix_webhooks VALUES ('${key}', 'completed', 1, 't', 0, (unixepoch() + ${hours} * 3600) * 1000)`
    await batch('DELETE FROM tix_webhooks', record('old', -2), record('older', -3), record('kept', 1))
    const keys = 'SELECT key FROM tix_webhooks ORDER BY key'
    expect(await ask('/purge?limit=1')).toBe(1)
    expect(await batch(keys)).toEqual([[{ key: 'kept' }, { key: 'old' }]])
    expect(await ask('/purge?limit=1000')).toBe(1)
    expect(await ask('/purge?limit=1000')).toBe(0)
    expect(await batch(keys)).toEqual([[{ key: 'kept' }]])
  })

  test.each([
    ['other columns', 'key TEXT PRIMARY KEY, state TEXT', 'without attempt, token, lease_until, expires_at,'],
    ['no primary key', COLUMNS, 'without PRIMARY KEY (key),'],
    ['a primary key of two columns', `${COLUMNS}, PRIMARY KEY (key, token)`, 'without PRIMARY KEY (key),'],
  ])('names what a table with %s lacks', async (_, columns, lacks) => {
    await batch('DROP TABLE IF EXISTS foreign_one', `CREATE TABLE foreign_one (${columns})`)
    expect(await ask('/migrate-table?table=foreign_one')).toContain(lacks)
  })

  test.each([
    ['no table', [], 'The table of the D1 store is missing: apply its ddl'],
    [
      'other columns',
      ['CREATE TABLE checked (key TEXT PRIMARY KEY, state TEXT)'],
      'created by another version or another program',
    ],
    [
      'no primary key',
      [`CREATE TABLE checked (${COLUMNS})`],
      'created by another version or another program',
    ],
    ['all of ours', [`CREATE TABLE checked (${COLUMNS}, PRIMARY KEY (key))`], ''],
  ])('checks its table: %s', async (_, statements, message) => {
    await batch('DROP TABLE IF EXISTS checked', ...statements)
    const found = await ask('/check?store=d1&table=checked')
    if (message === '') expect(found).toBe('')
    else expect(found).toContain(message)
    if (statements.length > 0) expect(await batch('SELECT key FROM checked')).toEqual([[]])
  })

  test('has a ddl that the exec of D1 runs, and that makes what a migration does', async () => {
    expect(await ask('/exec?table=by_exec')).toBe(2)
    for (const table of ['by_exec', 'by_migration']) {
      expect(await ask(`/migrate-table?table=${table}`)).toBe('')
      const [found] = (await batch(
        `SELECT type FROM sqlite_schema WHERE tbl_name = '${table}' AND sql IS NOT NULL ORDER BY type`,
      )) as object[]
      expect(found).toEqual([{ type: 'index' }, { type: 'table' }])
    }
  })
})

/** A binding whose calls fail. */
const failing = (message: string): D1Database => {
  const statement = { bind: () => statement, all: () => Promise.reject(new Error(message)) }
  return { prepare: () => statement, batch: () => Promise.reject(new Error(message)) }
}
const lease = { key: 'k', token: 't' }

test('each call is one round trip', async () => {
  let trips = 0
  const answer = (count: number) => {
    trips += 1
    return Promise.resolve(Array.from({ length: count }, () => ({ results: [{ attempt: 1 }] })))
  }
  const statement = { bind: () => statement, all: async () => (await answer(1))[0] as { results: object[] } }
  const store = d1Store({ prepare: () => statement, batch: (statements) => answer(statements.length) })
  await store.claim({ ...lease, leaseMs: 1, retainMs: 1 })
  expect(trips).toBe(1)
  await store.renew(lease, 1)
  await store.complete(lease, 1)
  await store.release(lease)
  expect(trips).toBe(4)
  await store.isHandled('k')
  await store.check()
  expect(trips).toBe(6)
})

describe('the error of a D1', () => {
  test.each([
    [
      'D1_ERROR: no such table: tix_webhooks: SQLITE_ERROR',
      'store_unavailable',
      /The table of the D1 store is missing: apply its ddl/,
    ],
    [
      'D1_ERROR: table tix_webhooks has no column named token: SQLITE_ERROR',
      'store_unavailable',
      /created by another version or another program/,
    ],
    [
      'D1_ERROR: NOT NULL constraint failed: tix_webhooks.tenant: SQLITE_CONSTRAINT',
      'store_unavailable',
      /created by another version or another program/,
    ],
    ['D1_ERROR: Exceeded maximum DB size', 'store_full', /The D1 database is full: purge it/],
    ['D1_ERROR: D1 DB is overloaded. Too many requests queued.', 'store_unavailable', /overloaded/],
    ['Network connection lost.', 'store_unavailable', /could not be reached/],
  ])('%s says what to do', async (message, code, advice) => {
    const store = d1Store(failing(message))
    for (const call of [
      () => store.claim({ ...lease, leaseMs: 1, retainMs: 1 }),
      () => store.release(lease),
      () => store.isHandled('k'),
      () => store.check(),
      () => store.migrate(),
      () => store.purge(),
    ]) {
      const error = await call().then(undefined, (error) => error)
      expect(error).toMatchObject({ code, cause: { message } })
      expect(error.message).toMatch(advice)
    }
  })
})

describe('d1Store refuses', () => {
  const db = failing('unused')
  test.each<[string, unknown, object | undefined, RegExp]>([
    ['a missing binding', undefined, undefined, /^db must be a D1 binding, such as env.DB, not undefined/],
    ['the environment', { DB: db }, undefined, /^db must be a D1 binding/],
    ['a name that is no table', db, { table: 'a b' }, /^table must be a name/],
    ['an unknown option', db, { tabel: 'x' }, /tabel/],
  ])('%s', (_, given, options, message) => {
    expect(() => d1Store(given as never, options)).toThrow(TypeError)
    expect(() => d1Store(given as never, options)).toThrow(message)
  })

  test('a claim that the contract does not allow', async () => {
    const store = d1Store(db)
    await expect(store.claim({ key: '', token: 't', leaseMs: 1, retainMs: 1 })).rejects.toThrow(TypeError)
    await expect(store.renew(lease, 0)).rejects.toThrow(TypeError)
    await expect(store.complete(lease, 0)).rejects.toThrow(TypeError)
    await expect(store.release({ key: 'k', token: '' })).rejects.toThrow(TypeError)
    await expect(store.purge({ limit: 0 })).rejects.toThrow(TypeError)
  })
})
