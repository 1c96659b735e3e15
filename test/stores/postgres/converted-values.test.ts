import { CamelCasePlugin, Kysely, ParseJSONResultsPlugin, PostgresDialect } from 'kysely'
import { type Pool, types } from 'pg'
import postgres from 'postgres'
import { ddl, fromKysely, type PostgresDriver, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { onPostgres } from '../../support/on-servers.js'
import { openPg, openPostgresJs } from '../../support/postgres-clients.js'
import { type TestDatabase, testDatabase } from '../../support/postgres-database.js'

const HOUR_MS = 3_600_000
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`
/** Each is changed by one of the clients below. */
const SUBJECTS = [' spaced ', 'lower', '["json"]', '{"a":1}', '42', 'snake_case', 'true']

type Parser = (value: string) => unknown

/** A pool on which an app has set parsers, as `types.setTypeParser` does for all pools. */
function openParsing(database: TestDatabase, parsers: Readonly<Record<number, Parser>>): Pool {
  const pool = openPg(database)
  const getTypeParser = (oid: number, format?: 'text' | 'binary'): Parser =>
    parsers[oid] ?? types.getTypeParser(oid, format as 'text')
  Object.assign(pool.options, { types: { getTypeParser } })
  return pool
}

/** A driver that a user has written, which changes values before the inbox sees them. */
function changing(
  database: TestDatabase,
  change: (value: unknown, name: string) => unknown,
): PostgresDriver<unknown> {
  const pool = openPg(database)
  const driver = fromKysely(new Kysely({ dialect: new PostgresDialect({ pool }) }), pool)
  return {
    transaction: driver.transaction as PostgresDriver<unknown>['transaction'],
    query: async (tx, sql, parameters) =>
      (await driver.query(tx as never, sql, parameters)).map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, change(value, name)])),
      ),
  }
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

const { TEXT, INT4, INT8, FLOAT8 } = types.builtins
const upper = (value: unknown): unknown => (typeof value === 'string' ? value.toUpperCase() : value)
const asText = (value: unknown): unknown => (typeof value === 'number' ? String(value) : value)

type OpenPool = (database: TestDatabase) => Pool
/** Both kinds of pool are used alike here. */
const js =
  (transform: object): OpenPool =>
  (database) =>
    openPostgresJs(database, {}, { transform }) as unknown as Pool
const parsing =
  (parsers: Readonly<Record<number, Parser>>): OpenPool =>
  (database) =>
    openParsing(database, parsers)
const trimmedUpper = (value: unknown) => (typeof value === 'string' ? value.trim().toUpperCase() : value)

const POOLS: [string, OpenPool][] = [
  ['trims text (a type parser of pg)', parsing({ [TEXT]: (text) => text.trim() })],
  ['parses text as JSON (the same)', parsing({ [TEXT]: parsed })],
  [
    'returns numbers as text, and large ones as bigint (the same)',
    parsing({ [INT4]: String, [FLOAT8]: String, [INT8]: BigInt }),
  ],
  ['trims and raises text (transform.value of postgres.js)', js({ value: { from: trimmedUpper } })],
  ['renames columns (postgres.camel)', js(postgres.camel)],
  ['renames columns (postgres.pascal)', js(postgres.pascal)],
  ['renames columns (postgres.kebab)', js(postgres.kebab)],
  ['renames columns (a function)', js({ column: (name: string) => `_${name}` })],
]

const formats = {
  DateStyle: 'SQL, DMY',
  bytea_output: 'escape',
  TimeZone: 'Asia/Tokyo',
  extra_float_digits: '-3',
}

/** A pool or a driver for an inbox. */
const CLIENTS: [string, (database: TestDatabase) => Pool | PostgresDriver<unknown>][] = [
  ...POOLS,
  ['has another encoding', (database) => openPg(database, { settings: { client_encoding: 'SJIS' } })],
  ['has other formats', (database) => openPg(database, { settings: formats })],
  [
    'parses JSON and renames columns (plugins of Kysely)',
    (database) => {
      const dialect = new PostgresDialect({ pool: openPg(database) })
      const plugins = [new ParseJSONResultsPlugin(), new CamelCasePlugin()]
      return fromKysely(new Kysely({ dialect, plugins })) as PostgresDriver<unknown>
    },
  ],
  ['raises text (a driver of two methods)', (database) => changing(database, upper)],
  ['returns numbers as text (the same)', (database) => changing(database, asText)],
]

onPostgres('values that the user’s client converts', () => {
  const database = testDatabase(ddl)
  beforeEach(() => database.query('TRUNCATE tix_webhooks_events, tix_webhooks_events_newest'))

  test.each(CLIENTS)(
    'by a client that %s: an event is recorded once, and each change of a list is answered by its place',
    async (_, open) => {
      const inbox = postgresInbox(open(database) as PostgresDriver<unknown>)
      await inbox.migrate()
      const ask = async (key: string, subjects: readonly string[], second: number) => {
        let results: unknown
        const { status } = await inbox.once({ key, retainMs: HOUR_MS }, async (tx) => {
          results = await inbox.recordIfNewest(
            tx,
            subjects.map((subject) => ({ subject, at: at(second) })),
          )
        })
        return [status, results]
      }
      expect(await ask('a', SUBJECTS.slice(0, 3), 5)).toEqual(['handled', [true, true, true]])
      expect(await ask('a', SUBJECTS, 5)).toEqual(['duplicate', undefined])
      expect(await ask('b', SUBJECTS, 4)).toEqual(['handled', SUBJECTS.map((_, i) => i >= 3)])
      expect(
        await database.column('SELECT subject FROM tix_webhooks_events_newest ORDER BY subject'),
      ).toEqual([...SUBJECTS].sort())
    },
  )

  test.each(CLIENTS)('by a client that %s: an inbox keeps all of a failure', async (_, open) => {
    const { keep, ledger } = postgresInbox(open(database) as Pool)
    const text = 'Größe, 東京, 🎟️ "quoted" \\ \n'
    const { isReplay, retainMs, rawBody, code, message, group, ...failed } = failedDelivery({
      ...{ key: 'Kept/Key', account: text, kind: text, eventId: 'evt_007', orderId: '007', message: text },
      rawBody: Uint8Array.from({ length: 512 }, (_, i) => i),
    })
    for (const count of [1, 2]) {
      expect(await keep({ ...failed, isReplay, retainMs, rawBody, code, message, group })).toBe('failing')
      const expected = { ...failed, rawBody, state: 'failing', failure: { code, message, group, count } }
      expect(await ledger.get('Kept/Key')).toMatchObject(expected)
      expect(await ledger.list({ orderId: '007', bodies: true })).toMatchObject([expected])
    }
    expect(await ledger.groups()).toMatchObject([{ group, count: 1, kind: text, message: text }])
    expect(await ledger.count({ kind: text })).toBe(1)
  })

  test.each(POOLS)('by a client that %s: a store claims, completes and releases as ever', async (_, open) => {
    const store = postgresStore(open(database))
    const claim = { key: 'k', token: 'a', leaseMs: HOUR_MS, retainMs: HOUR_MS }
    expect(await store.claim(claim)).toEqual({ status: 'claimed', attempt: 1 })
    const denied = await store.claim({ ...claim, token: 'b' })
    expect(denied).toEqual({ status: 'in_flight', retryAfterMs: expect.any(Number) })
    expect(denied.status === 'in_flight' && denied.retryAfterMs).toBeGreaterThan(HOUR_MS / 2)
    expect(await store.release(claim)).toBe(true)
    expect(await store.claim(claim)).toEqual({ status: 'in_flight', retryAfterMs: 1 })
    expect(await store.claim({ ...claim, token: 'b' })).toEqual({ status: 'claimed', attempt: 2 })
    expect(await store.complete({ key: 'k', token: 'b' }, HOUR_MS)).toBe(true)
    expect(await store.claim(claim)).toEqual({ status: 'completed' })
  })

  const misread = { code: 'store_misbehaved', message: expect.stringMatching(/type parser/) }
  const request = { key: 'k', retainMs: HOUR_MS }

  test.each<[string, (value: unknown, name: string) => unknown]>([
    [
      'booleans and numbers',
      (value, name) =>
        typeof value === 'boolean' ? Number(value) : name === 'verdict' ? `no. ${value}` : value,
    ],
    ['everything', () => undefined],
  ])('are never guessed where it converts %s', async (_, change) => {
    let isChanging = false
    const driver = changing(database, (value, name) => (isChanging ? change(value, name) : value))
    const inbox = postgresInbox(driver)
    const once = inbox.once(request, async (tx) => {
      isChanging = true
      const asked = inbox.recordIfNewest(tx, { subject: 's', at: at(1) })
      await asked.finally(() => {
        isChanging = false
      })
    })
    await expect(once).rejects.toMatchObject(misread)
    isChanging = true
    await expect(inbox.once(request, async () => {})).rejects.toMatchObject(misread)
    await expect(inbox.migrate()).rejects.toMatchObject(misread)
    isChanging = false
    expect(await inbox.once(request, async () => {})).toEqual({ status: 'handled' })
  })

  test('are never guessed where a parser of pg turns booleans into words, or a column is lost', async () => {
    const words = { [types.builtins.BOOL]: (value: string) => (value === 't' ? 'yes' : 'no') }
    const pool = openParsing(database, words)
    const claim = { ...request, token: 'a', leaseMs: HOUR_MS }
    await expect(postgresStore(pool).claim(claim)).rejects.toMatchObject(misread)
    const lossy = ['verdict', 'id'].map((lost) =>
      changing(database, (value, name) => (name === lost ? undefined : value)),
    )
    for (const client of [pool, ...lossy]) {
      const inbox = postgresInbox(client as PostgresDriver<unknown>)
      await expect(inbox.once(request, async () => {})).rejects.toMatchObject(misread)
    }
  })
})
