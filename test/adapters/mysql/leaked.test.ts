import { ddl, type MysqlPool, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { expect, test } from 'vitest'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { POOLS } from './pools.js'

interface Connection {
  query(sql: string): Promise<unknown>
  release(): unknown
}

onMysql.each(POOLS)('a connection of $name that the app gave back in a transaction', ({ open }) => {
  const database = testMysqlDatabase('CREATE TABLE effects (id VARCHAR(100) PRIMARY KEY)', ddl)

  async function leak(pool: MysqlPool): Promise<void> {
    const connection = (await pool.getConnection()) as unknown as Connection
    await connection.query('START TRANSACTION')
    await connection.query("INSERT INTO effects VALUES ('of the app')")
    await connection.release()
  }

  test('keeps nothing of a store in it', async () => {
    const pool = open(database, { connectionLimit: 1 })
    const store = mysqlStore(pool)
    const lease = { key: 'k', token: 'a' }
    await leak(pool)
    expect(await store.claim({ ...lease, leaseMs: 60_000, retainMs: 3_600_000 })).toEqual({
      status: 'claimed',
      attempt: 1,
    })
    await leak(pool)
    expect(await store.complete(lease, 3_600_000)).toBe(true)
    expect(await database.column('SELECT state FROM tix_webhooks')).toEqual(['completed'])
    expect(await database.column('SELECT id FROM effects')).toEqual([])
  })

  test('is not committed with the transaction of an inbox', async () => {
    const pool = open(database, { connectionLimit: 1 })
    const inbox = mysqlInbox(pool)
    await leak(pool)
    const once = inbox.once({ key: 'k', retainMs: 3_600_000 }, async (tx) => {
      await (tx as unknown as Connection).query("INSERT INTO effects VALUES ('of the handler')")
    })
    expect(await once).toEqual({ status: 'handled' })
    expect(await database.column('SELECT id FROM effects')).toEqual(['of the handler'])
  })
})

onMysql.each(POOLS)('a transaction over $name without a handler', ({ open }) => {
  const database = testMysqlDatabase()

  test('gives its connection back when the server refuses it', async () => {
    const pool = open(database, { connectionLimit: 1 })
    async function session(): Promise<number | null> {
      const connection = await pool.getConnection()
      await connection.release()
      return connection.threadId
    }
    const before = await session()
    await expect(mysqlInbox(pool).check()).rejects.toThrow(/is missing: run inbox\.migrate/)
    expect(await session()).toBe(before)
  })
})
