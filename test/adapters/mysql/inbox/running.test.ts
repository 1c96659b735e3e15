import { ddl, mysqlInbox } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, test } from 'vitest'
import { atOnce } from '../../../support/at-once.js'
import { orderCreated } from '../../../support/deliveries.js'
import { testMysqlDatabase } from '../../../support/mysql-database.js'
import { onMysql } from '../../../support/on-servers.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { deferred, never } from '../../../support/promises.js'
import { type AnyPool, MARIADB, MYSQL2, POOLS } from '../pools.js'

const ONCE = { key: 'k', retainMs: 3_600_000 }
const HANDLED = { status: 'handled' }
const IN_FLIGHT = { status: 'in_flight' }
const unexpected = (): Promise<never> => expect.fail('The work was called')

interface Tx {
  query(sql: string): Promise<unknown>
}

onMysql('the runs of an inbox', () => {
  const database = testMysqlDatabase('CREATE TABLE effects (id VARCHAR(100) PRIMARY KEY)', ddl)
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const insert = async (tx: unknown, id: string): Promise<void> =>
    void (await (tx as Tx).query(`INSERT INTO effects VALUES ('${id}')`))

  beforeEach(async () => {
    for (const table of ['effects', 'tix_webhooks_inbox']) await database.query(`DELETE FROM ${table}`)
  })

  /** Begins a handler, and returns how to end it. */
  async function begin(pool: AnyPool, key: string) {
    const [entered, leave] = [deferred(), deferred()]
    const ended = mysqlInbox(pool).once({ ...ONCE, key }, async (tx) => {
      await insert(tx, key)
      entered.resolve()
      await leave.promise
    })
    await Promise.race([entered.promise, ended])
    return { ended, leave: leave.resolve }
  }

  describe.each(POOLS)('over $name', ({ name, open }) => {
    test('share a lock with few other events: one of the same slot is in flight, and is handled after it', async () => {
      const [slot] = await database.column("SELECT CRC32('k') % 65536")
      const [other] = await database.column(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
       SELECT CONCAT('k', a.i * 1000 + b.i) FROM n AS a JOIN n AS b WHERE CRC32(CONCAT('k', a.i * 1000 + b.i)) % 65536 = ${slot} LIMIT 1`,
      )
      const pool = open(database)
      const { ended, leave } = await begin(pool, 'k')
      const request = { ...ONCE, key: String(other) }
      expect(await mysqlInbox(pool).once(request, unexpected)).toEqual(IN_FLIGHT)
      leave()
      await ended
      expect(await mysqlInbox(pool).once(request, (tx) => insert(tx, 'other'))).toEqual(HANDLED)
      expect(await effects()).toEqual(['k', 'other'])
    })

    test('name the pool that a handler waits for beside ctx.tx', async () => {
      const pool = open(database, {
        connectionLimit: 1,
        more: name === 'mariadb' ? { acquireTimeout: 9_000 } : {},
      })
      const { send, reports } = await endpoint({
        inbox: mysqlInbox(pool),
        timeoutSeconds: 0.3,
        maxRunSeconds: 0.6,
        on: { 'order.created': () => pool.query('SELECT 1') },
      })
      expect((await send(orderCreated())).outcome).toBe('timed_out')
      expect(reports[0]?.message).toMatch(
        /The pool of the inbox has no idle connection \(1 waiting\).*Use ctx\.tx alone/,
      )
    })
  })

  // These wait for limits that cannot be shorter.
  test('end on the server if a handler sends nothing for longer than idleTimeoutSeconds', async () => {
    await atOnce(POOLS, async ({ name, open }) => {
      const key = `idle over ${name}`
      const pool = open(database)
      const inbox = mysqlInbox(pool, { idleTimeoutSeconds: 1 })
      const waiting = deferred()
      const once = inbox.once({ ...ONCE, key }, async (tx) => {
        await insert(tx, `${key}, lost`)
        waiting.resolve()
        await never()
      })
      const ended = expect(once).rejects.toMatchObject({ code: 'store_unavailable' })
      await waiting.promise
      // The server has rolled back, and let the lock go.
      let answer: { status: string }
      do answer = await inbox.once({ ...ONCE, key }, (tx) => insert(tx, `${key}, found`))
      while (answer.status === 'in_flight')
      expect(answer).toEqual(HANDLED)
      await ended
    })
    expect(await effects()).toEqual(['idle over mariadb, found', 'idle over mysql2, found'])
  })

  test('that are given up with a statement that is stuck leave no session, no lock and no place in the pool', async () => {
    await atOnce(POOLS, async ({ name, open }) => {
      const sleep = `SELECT SLEEP(100) AS ${name}`
      const pool = open(database, { connectionLimit: 2 })
      const asked = deferred()
      let isFirst = true
      const { send, reports } = await endpoint({
        inbox: mysqlInbox(pool),
        timeoutSeconds: 8,
        maxRunSeconds: 0.3,
        on: {
          'order.created': async (event, { tx }) => {
            await insert(tx, event.data.order.id)
            if (!isFirst) return
            isFirst = false
            asked.resolve()
            await (tx as unknown as Tx).query(sleep)
          },
        },
      })
      const order = orderCreated({ id: `stuck over ${name}` })
      const first = send(order)
      await asked.promise
      expect(await first).toMatchObject({ status: 503, outcome: 'timed_out' })
      expect(reports.map(({ code }) => code)).toEqual(['given_up'])
      const stuck = `SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '${sleep}%' AND DB = DATABASE()`
      while ((await database.column(stuck))[0] !== 0);
      while ((await send(order)).status !== 200);
      // All places of the pool, at the same time, in no transaction.
      const connections = [await pool.getConnection(), await pool.getConnection()]
      for (const connection of connections) {
        expect(
          JSON.stringify(
            await connection.query({ sql: 'SELECT CAST(@@autocommit + 0 AS CHAR) AS autocommit' }),
          ),
        ).toContain('"autocommit":"1"')
        await connection.release()
      }
    })
    expect(await effects()).toEqual(['stuck over mariadb', 'stuck over mysql2'])
  })
})

describe('the connections of an inbox', () => {
  const database = { url: 'mysql://root@127.0.0.1:1/none' }

  test('are those of the pool of mysql2, of which mariadb says nothing', () => {
    const [pool, other] = [MYSQL2.open(database, { connectionLimit: 7 }), MYSQL2.open(database)]
    const { connections } = mysqlInbox(pool)
    expect(connections).toEqual({ max: 7 })
    expect(mysqlInbox(pool, { table: 'another' }).connections).toBe(connections)
    expect(mysqlInbox(other).connections).not.toBe(connections)
    expect(mysqlInbox(MARIADB.open(database)).connections).toBeUndefined()
  })
})
