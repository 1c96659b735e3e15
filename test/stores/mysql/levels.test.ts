import { inspect } from 'node:util'
import { ddl, type MysqlDriver, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { beforeEach, expect, test } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { deferred } from '../../support/promises.js'
import { type AnyPool, MYSQL2, POOLS } from './pools.js'

const DAY_MS = 86_400_000
const KEY = 'test/order.created/ord_1'
const REQUEST = { key: KEY, retainMs: DAY_MS }
const IN_FLIGHT = { status: 'in_flight' }
const CLAIM = { token: 't', leaseMs: DAY_MS, retainMs: DAY_MS }
const FAILED = failedDelivery({ key: KEY })
const WAITS = 'waits'

/** What a handler finds of a row that another transaction has written, before that is committed and after. */
const LEVELS = [
  ['READ UNCOMMITTED', [1, 1]],
  ['READ COMMITTED', [0, 1]],
  ['REPEATABLE READ', [0, 0]],
  ['SERIALIZABLE', [WAITS, 1]],
] as const

/** The number of rows that a handler finds: the clients differ in how they return it. */
async function rowsIn(tx: Querying): Promise<number> {
  return Number(/n: (\d+)/.exec(inspect(await tx.query('SELECT COUNT(*) AS n FROM effects')))?.[1])
}

type Querying = { query(sql: string): Promise<unknown> }

/** As a library does it. */
const driverOf = (pool: AnyPool): MysqlDriver<Querying> => ({
  async transaction(work) {
    const connection = await pool.getConnection()
    try {
      await connection.query('START TRANSACTION')
      const result = await work(connection)
      await connection.query('COMMIT')
      return result
    } catch (error) {
      await connection.query('ROLLBACK')
      throw error
    } finally {
      connection.release()
    }
  },
  query: (connection, sql) => connection.query(sql),
})

const CLIENTS = [
  ...POOLS.map(({ name, open }) => ({ name, open, as: (pool: AnyPool) => pool })),
  { name: 'a driver', open: MYSQL2.open, as: (pool: AnyPool) => driverOf(pool) as unknown as AnyPool },
]

const ROWS = LEVELS.flatMap(([level, seen]) => CLIENTS.map((client) => ({ level, seen, client })))

onMysql.each(ROWS)('at $level, over $client.name', ({ level, seen, client }) => {
  const database = testMysqlDatabase('CREATE TABLE effects (id INT)', ddl)
  beforeEach(async () => {
    for (const table of ['effects', 'tix_webhooks_events']) await database.query(`DELETE FROM ${table}`)
  })

  // Whatever waits for another transaction fails.
  const session = [`SET SESSION TRANSACTION ISOLATION LEVEL ${level}`, 'SET innodb_lock_wait_timeout = 1']
  const openPool = (connectionLimit = 4) => client.open(database, { session, connectionLimit })

  /** What this transaction sees of another, before that is committed and after. */
  async function seenBy(tx: Querying): Promise<unknown[]> {
    await using other = await database.connect()
    await other.query('START TRANSACTION')
    await other.query('INSERT INTO effects VALUES (1)')
    const before = await rowsIn(tx).catch(() => WAITS)
    await other.query('COMMIT')
    return [before, await rowsIn(tx)]
  }

  test('a connection is given back at its level', async () => {
    const pool = client.as(openPool(1))
    const inbox = mysqlInbox(pool)
    let found: unknown
    for (const read of [() => inbox.isHandled(KEY), () => inbox.ledger.count(), inbox.check]) {
      await read()
      await inbox.once({ key: null, retainMs: DAY_MS }, async (tx) => {
        found = await seenBy(tx as unknown as Querying)
      })
      expect(found, String(read)).toEqual(seen)
      await database.query('DELETE FROM effects')
    }
  })

  test('an inbox knows and waits for nothing of a handler that runs, whose level stays', async () => {
    const pool = client.as(openPool())
    const inbox = mysqlInbox(pool)
    const { ledger } = inbox
    const unexpected = (): Promise<void> => expect.fail('It ran')
    expect(await inbox.keep(FAILED)).toBe('failing')

    const [begun, ended] = [deferred(), deferred()]
    const found: unknown[] = []
    const failing = inbox.once(REQUEST, async (tx) => {
      found.push(...(await seenBy(tx as unknown as Querying)))
      begun.resolve()
      await ended.promise
      throw new Error('It failed')
    })
    await Promise.race([begun.promise, failing])
    expect(found).toEqual(seen)

    expect(await inbox.once(REQUEST, unexpected)).toEqual(IN_FLIGHT)
    expect(await inbox.isHandled(KEY)).toBe(false)
    expect(await inbox.keep(FAILED)).toBe('in_flight')
    expect(await ledger.discard(KEY, { reason: 'by hand' })).toBe('in_flight')
    expect(await ledger.get(KEY)).toMatchObject({ state: 'failing', attempts: 1 })
    expect([await ledger.list(), await ledger.groups(), await ledger.count()]).toMatchObject([[{}], [{}], 1])
    await inbox.check()
    ended.resolve()
    await expect(failing).rejects.toThrow('It failed')

    expect(await inbox.once(REQUEST, async () => {})).toEqual({ status: 'handled' })
    expect(await inbox.once(REQUEST, unexpected)).toEqual({ status: 'duplicate' })
    expect([await inbox.isHandled(KEY), await ledger.count()]).toEqual([true, 0])
    const parked = { ...REQUEST, key: 'other' }
    await inbox.keep(failedDelivery({ key: 'other', parkAfter: { attempts: 1 } }))
    expect(await inbox.once(parked, unexpected)).toEqual({ status: 'parked' })
  })

  test.skipIf(client.name === 'a driver')('a store knows what is committed', async () => {
    const store = mysqlStore(openPool())
    const keys = ['a', 'b', 'c', 'd', 'e', 'f']
    const claimAll = (token: string) =>
      Promise.all(keys.map(async (key) => (await store.claim({ ...CLAIM, key, token })).status))
    expect(await claimAll('t')).toEqual(keys.map(() => 'claimed'))
    expect(await claimAll('other')).toEqual(keys.map(() => 'in_flight'))
    await using other = await database.connect()
    await other.query('START TRANSACTION')
    await other.query("UPDATE tix_webhooks_events SET state = 'handled'")
    expect(await Promise.all(keys.map(store.isHandled))).toEqual(keys.map(() => false))
    await other.query('ROLLBACK')
    await store.check()
    expect(await Promise.all(keys.map((key) => store.complete({ key, token: 't' }, DAY_MS)))).toEqual(
      keys.map(() => true),
    )
    expect(await claimAll('other')).toEqual(keys.map(() => 'completed'))
    expect(await Promise.all(keys.map(store.isHandled))).toEqual(keys.map(() => true))
  })
})
