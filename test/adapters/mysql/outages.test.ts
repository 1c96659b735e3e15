import { ddl, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { endpoint } from '../../support/postgres-endpoint.js'
import { SOON_HEADER } from '../../support/retry-after.js'
import { POOLS } from './pools.js'

const UNAVAILABLE = { status: 503, outcome: 'unavailable', retryAfter: SOON_HEADER }
const notCalled = () => expect.fail('It ran')

onMysql.each(POOLS)('a pool of $name', ({ open }) => {
  const database = testMysqlDatabase(ddl)

  test('that was ended is answered 503, with what to do', async () => {
    const pool = open(database)
    await mysqlStore(pool).check()
    await pool.end()
    for (const protection of [{ store: mysqlStore(pool) }, { inbox: mysqlInbox(pool) }]) {
      const { send, reports } = await endpoint<unknown>({ ...protection, on: { 'order.created': notCalled } })
      expect(await send(orderCreated())).toEqual(UNAVAILABLE)
      expect(reports.map(({ message }) => message)).toEqual([expect.stringMatching(/^The pool is closed/)])
    }
  })
})
