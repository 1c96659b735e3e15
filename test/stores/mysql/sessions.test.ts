import { ddl, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { beforeEach, expect, test } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { shiftMysql } from '../../support/shift-deadlines.js'
import { expectKept } from '../databases/kept.js'
import { type AnyPool, MARIADB, MYSQL2, type PoolClient } from './pools.js'

const HOUR_MS = 3_600_000
/** Each would end a literal, or be equal to another one, in some mode or character set. */
const KEYS = [
  'A',
  'a',
  'k',
  'k ',
  "'",
  '"',
  '\\',
  "\\'",
  '`',
  'a:b',
  ':b',
  'a?',
  'k'.repeat(255),
  '?'.repeat(255),
  '--',
  '#',
  '/*',
  '%',
  '_',
  '||',
]
/** Enough for what reads no literal in another way, but for the placeholders of a client. */
const FEW_KEYS = ['A', 'a', "\\'", ':b', 'a?']

/** Takes each method of both through its answers. */
async function expectRight(
  pool: AnyPool,
  allKeys: readonly string[],
  query: (sql: string) => Promise<unknown>,
): Promise<void> {
  const store = mysqlStore(pool)
  await store.check()
  const claim = (key: string, token: string) =>
    store.claim({ key, token, leaseMs: HOUR_MS, retainMs: 24 * HOUR_MS })
  const tokenOf = (key: string): string => `t${key}`.slice(0, 64)
  const denied = {
    status: 'in_flight',
    retryAfterMs: expect.toSatisfy((ms: number) => ms > HOUR_MS / 2 && ms <= HOUR_MS),
  }
  for (const keys of [allKeys.slice(0, 1), allKeys.slice(1)]) {
    const expectAll = async <T>(call: (key: string) => Promise<T>, answer: unknown) =>
      expect(await Promise.all(keys.map(call))).toEqual(keys.map(() => answer))
    await expectAll((key) => claim(key, tokenOf(key)), { status: 'claimed', attempt: 1 })
    await expectAll((key) => claim(key, 'other'), denied)
    await expectAll((key) => store.renew({ key, token: tokenOf(key) }, HOUR_MS), true)
    await expectAll((key) => store.renew({ key, token: 'other' }, HOUR_MS), false)
    await expectAll((key) => store.release({ key, token: tokenOf(key) }), true)
    await expectAll((key) => claim(key, tokenOf(key)), { status: 'in_flight', retryAfterMs: 1 })
    await expectAll((key) => claim(key, 'second'), { status: 'claimed', attempt: 2 })
    await expectAll((key) => store.complete({ key, token: tokenOf(key) }, HOUR_MS), false)
    await expectAll((key) => store.complete({ key, token: 'second' }, HOUR_MS), true)
    await expectAll((key) => claim(key, 'third'), { status: 'completed' })
    await expectAll((key) => store.isHandled(key), true)
  }
  expect(await store.isHandled('a%')).toBe(false)
  expect(await store.purge()).toBe(0)

  const inbox = mysqlInbox(pool)
  await inbox.check()
  const requestOf = (key: string) => ({ key: `inbox/${key}`.slice(0, 255), retainMs: HOUR_MS })
  for (const key of allKeys) {
    let results: unknown
    const once = inbox.once(requestOf(key), async (tx) => {
      results = await inbox.recordIfNewest(tx, [
        { subject: `漢${key}`.slice(0, 255), at: '2026-11-22T10:00:05Z' },
        { subject: key, at: '2026-11-22T10:00:05.123456789Z', rank: -3 },
      ])
    })
    expect([await once, results]).toEqual([{ status: 'handled' }, [true, true]])
  }
  await inbox.once({ key: null, retainMs: HOUR_MS }, async (tx) => {
    const older = allKeys.map((subject) => ({ subject, at: '2026-11-22T10:00:04Z' }))
    expect(await inbox.recordIfNewest(tx, older)).toEqual(allKeys.map(() => false))
  })
  await Promise.all(
    allKeys.map(async (key) => {
      expect(await inbox.once(requestOf(key), () => expect.fail('It ran'))).toEqual({ status: 'duplicate' })
      const { key: own } = requestOf(key)
      expect(await inbox.isHandled(own)).toBe(true)
      expect(await inbox.keep(failedDelivery({ key: own }))).toBe('handled')
    }),
  )
  expect(await inbox.purge()).toBe(0)
  await expectKept(store, (ms) => query(shiftMysql('tix_webhooks_events', ms)))
  await inbox.keep(failedDelivery({ kind: 'k ' }))
  expect([await inbox.ledger.count({ kind: 'k' }), await inbox.ledger.count({ kind: 'k ' })]).toEqual([0, 1])
}

const READ_COMMITTED = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'
const SERIALIZABLE = 'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE'
const TRADITIONAL =
  "SET sql_mode = 'TRADITIONAL,ONLY_FULL_GROUP_BY,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION'"

/** A session is the same over both clients, so each client has every second one. */
const SESSIONS: readonly (readonly [name: string, statement: string, keys: readonly string[]])[] = [
  ['ANSI', "SET sql_mode = 'ANSI'", KEYS],
  ['NO_BACKSLASH_ESCAPES', "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'", KEYS],
  ['no strict mode', "SET sql_mode = ''", FEW_KEYS],
  ['traditional', TRADITIONAL, FEW_KEYS],
  ['a zone that is ahead', "SET time_zone = '+13:00'", FEW_KEYS],
  ['latin1', 'SET NAMES latin1', KEYS],
  ['gbk', 'SET NAMES gbk', KEYS],
  ['another collation', 'SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci', KEYS],
  ['READ COMMITTED', READ_COMMITTED, FEW_KEYS],
  ['SERIALIZABLE', SERIALIZABLE, FEW_KEYS],
  // Over mysql2: the pool of mariadb itself sends a ROLLBACK after a statement that failed.
  ['a session that each end of a transaction ends', 'SET completion_type = 2', FEW_KEYS],
  ['snapshot isolation', 'SET innodb_snapshot_isolation = ON', FEW_KEYS],
]

/** Those that say how rows look are alone; the others come in pairs that have nothing to do with each other. */
const OPTIONS: readonly (readonly [string, PoolClient, object])[] = [
  ['flags -FOUND_ROWS and namedPlaceholders', MYSQL2, { flags: '-FOUND_ROWS', namedPlaceholders: true }],
  ['dateStrings and charset latin1', MYSQL2, { dateStrings: true, charset: 'latin1_swedish_ci' }],
  [
    'bigNumberStrings and multipleStatements',
    MYSQL2,
    {
      supportBigNumbers: true,
      bigNumberStrings: true,
      decimalNumbers: true,
      multipleStatements: true,
      stringifyObjects: true,
      timezone: '+13:00',
    },
  ],
  ['rowsAsArray', MYSQL2, { rowsAsArray: true }],
  ['nestTables', MYSQL2, { nestTables: true }],
  ['nestTables _', MYSQL2, { nestTables: '_' }],
  ['typeCast off', MYSQL2, { typeCast: false }],
  ['typeCast text', MYSQL2, { typeCast: (field: { string(): string | null }) => field.string() }],
  ['foundRows and namedPlaceholders', MARIADB, { foundRows: false, namedPlaceholders: true }],
  [
    'dateStrings and charset latin1',
    MARIADB,
    { dateStrings: true, timezone: '+13:00', collation: 'latin1_swedish_ci' },
  ],
  [
    'numbers',
    MARIADB,
    { bigIntAsNumber: true, insertIdAsNumber: true, decimalAsNumber: true, checkNumberRange: true },
  ],
  // On a MySQL the client itself refuses it: see the advice.
  ['queryTimeout', MARIADB, { queryTimeout: 5_000 }],
  [
    'bigNumberStrings and multipleStatements',
    MARIADB,
    {
      supportBigNumbers: true,
      bigNumberStrings: true,
      supportBigInt: false,
      multipleStatements: true,
      pipelining: false,
    },
  ],
  ['rowsAsArray', MARIADB, { rowsAsArray: true }],
  ['nestTables', MARIADB, { nestTables: true }],
  ['nestTables _', MARIADB, { nestTables: '_' }],
  ['metaAsArray', MARIADB, { metaAsArray: true }],
  ['typeCast text', MARIADB, { typeCast: (column: { string(): string | null }) => column.string() }],
]

onMysql('the store and the inbox of a MySQL', () => {
  const database = testMysqlDatabase(ddl)
  beforeEach(async () => {
    for (const table of ['', '_newest']) await database.query(`DELETE FROM tix_webhooks_events${table}`)
  })
  const sessions = SESSIONS.map(([name, statement, keys], i) => {
    return { name, client: i % 2 === 0 ? MYSQL2 : MARIADB, options: { session: [statement] }, keys }
  })
  const options = OPTIONS.map(([name, client, more]) => ({ name, client, options: { more }, keys: FEW_KEYS }))
  test.for([...sessions, ...options])(
    'work as ever with $name, over $client.name',
    async ({ name, client, options, keys }, { skip }) => {
      skip(name === 'queryTimeout' && !(await database.isMariadb()), 'MariaDB alone has it')
      await expectRight(client.open(database, options), keys, database.query)
    },
  )

  // Statements would return too few rows, or claim what is not free.
  test.for([
    ['SET sql_select_limit = 99', /^sql_select_limit of the connections of this pool is below 1000/],
    ['SET sql_select_limit = 0', /^sql_select_limit of the connections of this pool is below 1000/],
    ["SET sql_mode = 'SIMULTANEOUS_ASSIGNMENT'", /^sql_mode of the connections .*SIMULTANEOUS_ASSIGNMENT/],
    ["SET sql_mode = 'ORACLE'", /^sql_mode of the connections .*SIMULTANEOUS_ASSIGNMENT/],
  ] as const)('refuse %s over both clients', async ([statement, message], { skip }) => {
    skip(statement.includes('sql_mode') && !(await database.isMariadb()), 'MariaDB alone has it')
    for (const client of [MYSQL2, MARIADB]) {
      const pool = client.open(database, { session: [statement] })
      const [store, inbox] = [mysqlStore(pool), mysqlInbox(pool)]
      for (const call of [
        ...[store, inbox].flatMap(({ check, migrate, purge }) => [check, migrate, () => purge()]),
        () => store.claim({ key: 'k', token: 't', leaseMs: HOUR_MS, retainMs: HOUR_MS }),
        () => inbox.once({ key: 'k', retainMs: HOUR_MS }, () => expect.fail('It ran')),
        () => inbox.keep(failedDelivery()),
      ]) {
        await expect(call()).rejects.toMatchObject({
          code: 'store_unavailable',
          message: expect.stringMatching(message),
        })
      }
    }
  })
})
