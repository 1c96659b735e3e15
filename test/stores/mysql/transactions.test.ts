import { ddl, type MysqlInbox, type MysqlPool, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, test } from 'vitest'
import { retryConflicts } from '../../../stores/mysql/conflicts.js'
import { BAD_AS } from '../../support/bad-as.js'
import { MYSQL_INBOX_CLIENTS } from '../../support/mysql-clients.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { MARIADB, MYSQL2, POOLS, untilWaiting } from './pools.js'

const HOUR_MS = 3_600_000
const RETAIN = { key: null, retainMs: 7 * 24 * HOUR_MS }
const KEYS = Array.from({ length: 150 }, (_, i) => `order ${(i * 67) % 150}`)
const CLAIMED = { status: 'claimed', attempt: 1 }
const IN_FLIGHT = { status: 'in_flight', retryAfterMs: expect.any(Number) }
const at = (second: number): string => `2026-11-22T10:00:0${second}Z`

type Store = ReturnType<typeof mysqlStore>

const claimAll = (store: Store, keys: readonly string[], token = 'a') =>
  Promise.all(keys.map((key) => store.claim({ key, token, leaseMs: HOUR_MS, retainMs: 24 * HOUR_MS })))

interface Connection {
  query(sql: string): Promise<unknown>
  release(): unknown
}

onMysql('on MySQL', () => {
  const database = testMysqlDatabase('CREATE TABLE effects (id VARCHAR(100) PRIMARY KEY)', ddl)
  beforeEach(async () => {
    for (const table of ['effects', 'tix_webhooks_events', 'tix_webhooks_events_newest']) {
      await database.query(`DELETE FROM ${table}`)
    }
  })

  describe.each(POOLS)('over $name', ({ open }) => {
    test('a burst is sent again when the server ends it for a deadlock with another transaction', async () => {
      const store = mysqlStore(open(database))
      await claimAll(store, ['a', 'b'])
      await using other = await database.connect()
      await other.query('START TRANSACTION')
      // It has written more, so that the server ends the other one.
      await other.query('DELETE FROM tix_webhooks_events_locks WHERE slot < 200')
      await other.query("SELECT * FROM tix_webhooks_events WHERE event_key = 'b' FOR UPDATE")
      // It locks a, and waits for b.
      const claims = claimAll(store, ['a', 'b'], 'other')
      await untilWaiting(database, 'INSERT INTO')
      await other.query("SELECT * FROM tix_webhooks_events WHERE event_key = 'a' FOR UPDATE")
      await other.query('ROLLBACK')
      expect(await claims).toEqual([IN_FLIGHT, IN_FLIGHT])
    })

    /** The app gives a connection back in a transaction. */
    async function leak(pool: MysqlPool): Promise<void> {
      const connection = (await pool.getConnection()) as unknown as Connection
      await connection.query('START TRANSACTION')
      await connection.query("INSERT INTO effects VALUES ('of the app')")
      await connection.release()
    }

    test('a transaction that the app has left open keeps nothing of a store in it', async () => {
      const pool = open(database, { connectionLimit: 1 })
      const store = mysqlStore(pool)
      await leak(pool)
      expect(await claimAll(store, ['k'])).toEqual([CLAIMED])
      await leak(pool)
      expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
      expect(await database.column('SELECT CAST(state AS CHAR) FROM tix_webhooks_events')).toEqual([
        'handled',
      ])
      expect(await database.column('SELECT id FROM effects')).toEqual([])
    })

    test('a transaction that the app has left open is not committed with that of an inbox', async () => {
      const pool = open(database, { connectionLimit: 1 })
      const inbox = mysqlInbox(pool)
      await leak(pool)
      const once = inbox.once({ ...RETAIN, key: 'k' }, async (tx) => {
        await (tx as unknown as Connection).query("INSERT INTO effects VALUES ('of the handler')")
      })
      expect(await once).toEqual({ status: 'handled' })
      expect(await database.column('SELECT id FROM effects')).toEqual(['of the handler'])
    })

    test('a transaction without a handler gives its connection back when the server refuses it', async () => {
      const pool = open(database, { connectionLimit: 1 })
      async function session(): Promise<number | null> {
        const connection = await pool.getConnection()
        await connection.release()
        return connection.threadId
      }
      const before = await session()
      const missing = mysqlInbox(pool, { table: 'missing' }).check()
      await expect(missing).rejects.toThrow(/is missing: run inbox\.migrate/)
      expect(await session()).toBe(before)
    })

    test.each(BAD_AS)('an as that %s is said to be at fault, and not the database', async (_, as, error) => {
      const inbox = mysqlInbox(open(database, { connectionLimit: 1 }), { as: as as never })
      for (let i = 0; i < 2; i++)
        await expect(inbox.once(RETAIN, async () => {})).rejects.toMatchObject(error)
    })

    test('recordIfNewest refuses what is within what as made', async () => {
      const pool = open(database)
      const inbox = mysqlInbox(pool, { as: (connection) => ({ connection }) })
      await inbox.once(RETAIN, async (tx) => {
        expect(await inbox.recordIfNewest(tx, { subject: 'evt_1', at: at(1) })).toBe(true)
        await expect(
          inbox.recordIfNewest(tx.connection as never, { subject: 'evt_1', at: at(2) }),
        ).rejects.toThrow(/pass ctx.tx itself/)
      })
    })
  })

  // Of neighbouring keys that are not there, each waits for the gap that the other one has locked.
  test('a burst is sent again after a deadlock with other processes whose keys are between its own', async () => {
    const deadlocks = async (): Promise<number> =>
      Number((await database.query("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"))[0]?.Value)
    const before = await deadlocks()
    const stores = [MYSQL2, MARIADB, MYSQL2].map(({ open }) => mysqlStore(open(database)))
    for (let round = 0; round < 6 && (round < 1 || (await deadlocks()) === before); round++) {
      const keysOf = (i: number): string[] => KEYS.map((key) => `${round} ${key} ${i}`)
      const answers = await Promise.all(
        stores.map((store, i) => claimAll(store, i === 1 ? keysOf(i).reverse() : keysOf(i))),
      )
      expect(answers.flat()).toEqual(stores.flatMap(() => KEYS.map(() => CLAIMED)))
      const done = await Promise.all(
        stores.flatMap((store, i) => keysOf(i).map((key) => store.complete({ key, token: 'a' }, HOUR_MS))),
      )
      expect(done).not.toContain(false)
    }
  })

  /** Asks in a transaction of its own, which is committed. */
  const ask = (inbox: MysqlInbox<unknown>, subject: string, second: number) =>
    inbox.once(RETAIN, async (tx) => void (await inbox.recordIfNewest(tx, { subject, at: at(second) })))

  test.each(MYSQL_INBOX_CLIENTS)(
    'recordIfNewest over $name knows of a newer change that was committed after the handler first read',
    async (library) => {
      const client = library.open(database)
      const inbox = client.inbox()
      await ask(inbox, 'evt_1', 3)
      await inbox.once(RETAIN, async (tx) => {
        // The snapshot of REPEATABLE READ, the default, is of now.
        await client.run(tx, 'SELECT COUNT(*) FROM tix_webhooks_events_newest')
        await ask(inbox, 'evt_1', 6)
        await ask(inbox, 'evt_2', 6)
        const list = ['evt_1', 'evt_2', 'evt_3'].map((subject) => ({ subject, at: at(5) }))
        expect(await inbox.recordIfNewest(tx, list)).toEqual([false, false, true])
        expect(await inbox.recordIfNewest(tx, { subject: 'evt_1', at: at(7) })).toBe(true)
      })
      const seconds = 'SELECT SUBSTR(CAST(changed_at AS CHAR), 18, 2) FROM tix_webhooks_events_newest'
      expect(await database.column(`${seconds} ORDER BY subject`)).toEqual(['07', '06', '05'])
    },
  )
})

const deadlock = Object.assign(new Error('Deadlock found'), { errno: 1213 })

test.each([
  { fails: 9, error: deadlock, canRetry: true, calls: 10, isDone: true },
  { fails: 10, error: deadlock, canRetry: true, calls: 10, isDone: false },
  { fails: 1, error: deadlock, canRetry: false, calls: 1, isDone: false },
  { fails: 1, error: new Error('Table is missing'), canRetry: true, calls: 1, isDone: false },
])('work that fails $fails times by $error.message is called $calls times', async (row) => {
  let calls = 0
  const done = retryConflicts(
    async () => {
      calls += 1
      if (calls <= row.fails) throw row.error
      return 'done'
    },
    () => row.canRetry,
  )
  await (row.isDone ? expect(done).resolves.toBe('done') : expect(done).rejects.toBe(row.error))
  expect(calls).toBe(row.calls)
})
