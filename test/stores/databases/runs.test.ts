import { Pool } from 'pg'
import { ddl as mysqlDdl, mysqlInbox } from 'tix-webhooks/mysql'
import { ddl as postgresDdl, postgresInbox } from 'tix-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { atOnce } from '../../support/at-once.js'
import { orderCreated } from '../../support/deliveries.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql, onPostgres } from '../../support/on-servers.js'
import { openPg } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { endpoint } from '../../support/postgres-endpoint.js'
import { deferred, never } from '../../support/promises.js'
import { MARIADB, MYSQL2, POOLS } from '../mysql/pools.js'
import { SERVERS } from './servers.js'

for (const { name, describe, clients, prepare } of SERVERS) {
  // At once: these wait for limits that cannot be shorter.
  describe(`a run in ${name}, over each library`, () => {
    const database = prepare('CREATE TABLE effects (id VARCHAR(100))')
    const rows = clients.map((client) => ({ name: client }))
    const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
    const [sleep, running] =
      name === 'postgres'
        ? ['pg_sleep(60)', "pg_stat_activity WHERE state = 'active' AND query"]
        : ['SLEEP(60)', 'information_schema.PROCESSLIST WHERE INFO']

    test('that is given up with a statement that is stuck leaves no session, no lock and no place in the pool', async () => {
      // On MySQL, a driver leaves the session of a connection that it gives up.
      const ended = rows.filter((row) => name === 'postgres' || row.name !== 'Kysely')
      await atOnce(ended, async ({ name }) => {
        const client = database.open(name, { connections: 1 })
        const text = `stuck_over_${name.replaceAll(/\W/g, '_')}`
        let isFirst = true
        const { send, reports } = await endpoint({
          inbox: client.inbox(),
          timeoutSeconds: 60,
          maxRunSeconds: 1,
          on: {
            'order.created': async (event, { tx }) => {
              await client.run(tx, `INSERT INTO effects VALUES ('${event.data.order.id}')`)
              if (!isFirst) return
              isFirst = false
              await client.run(tx, `SELECT ${sleep} AS ${text}`)
            },
          },
        })
        const order = orderCreated({ id: text })
        expect(await send(order)).toEqual({ status: 503, outcome: 'timed_out', retryAfter: '5' })
        expect(reports[0]?.code).toBe('given_up')
        // On a slow machine the limit can end a good run too.
        while ((await send(order)).status !== 200);
        const stuck = `SELECT 1 FROM ${running} LIKE 'SELECT ${sleep} AS ${text}%'`
        while ((await database.query(stuck)).length > 0);
      })
      const found = (await effects()).filter((id) => String(id).startsWith('stuck'))
      expect(found).toHaveLength(ended.length)
    })

    test('is ended by the server if its handler sends nothing for longer than idleTimeoutSeconds', async () => {
      await atOnce(rows, async ({ name }) => {
        const client = database.open(name)
        const [inbox, patient] = [client.inbox({ idleTimeoutSeconds: 1 }), client.inbox()]
        const request = { key: `idle over ${name}`, retainMs: 60_000 }
        const insert = (tx: unknown, id: string) =>
          client.run(tx, `INSERT INTO effects VALUES ('idle over ${name}, ${id}')`)
        const [waiting, found] = [deferred(), deferred()]
        const once = inbox.once(request, async (tx) => {
          await insert(tx, 'lost')
          waiting.resolve()
          await found.promise
        })
        const ended = expect(once).rejects.toMatchObject({
          // Some libraries learn only that the connection was closed, as in an outage.
          code: name === 'pg' ? 'rolled_back' : expect.stringMatching(/^(store_unavailable|rolled_back)$/),
        })
        await waiting.promise
        // The server has rolled back, and let the lock go.
        let answer: { status: string }
        do answer = await patient.once(request, async (tx) => void (await insert(tx, 'found')))
        while (answer.status === 'in_flight')
        expect(answer).toEqual({ status: 'handled' })
        found.resolve()
        await ended
      })
      const kept = (await effects()).filter((id) => String(id).startsWith('idle'))
      expect(kept).toEqual(clients.map((name) => `idle over ${name}, found`).sort())
    })
  })
}

/** A purge in the background would wait for the pool, too. */
const UNPURGED = { purgeEverySeconds: false } as const

onPostgres('a pool of pg that a handler uses beside ctx.tx', () => {
  const database = testDatabase(postgresDdl)

  test.each([1, 2])('is named in the report of the handler that waits for itself: %i in use', async (max) => {
    const pool = openPg(database, { max })
    const { send, reports } = await endpoint({
      inbox: postgresInbox(pool, UNPURGED),
      timeoutSeconds: 1,
      maxRunSeconds: 1.5,
      on: { 'order.created': () => pool.query('SELECT 1') },
    })
    const held = await Promise.all(Array.from({ length: max - 1 }, () => pool.connect()))
    const { outcome } = await send(orderCreated())
    for (const client of held) client.release()
    expect(outcome).toBe('timed_out')
    expect(reports[0]?.message).toMatch(
      new RegExp(
        `no idle connection \\(${max} in use, 1 waiting\\).*Use ctx.tx alone.*connectionTimeoutMillis`,
      ),
    )
  })

  test('is not blamed where a handler is slow by itself', async () => {
    const { send, reports } = await endpoint({
      inbox: postgresInbox(openPg(database, { max: 1 }), UNPURGED),
      timeoutSeconds: 1,
      maxRunSeconds: 1.5,
      on: { 'order.created': () => never() },
    })
    expect((await send(orderCreated())).outcome).toBe('timed_out')
    expect(reports[0]?.message).toMatch(/raise timeoutSeconds if the sender waits longer\.$/)
  })
})

onMysql.each(POOLS)('a pool of $name that a handler uses beside ctx.tx', ({ name, open }) => {
  const database = testMysqlDatabase(mysqlDdl)

  test('is named in the report of the handler that waits for itself', async () => {
    const more = name === 'mariadb' ? { acquireTimeout: 9_000 } : {}
    const pool = open(database, { connectionLimit: 1, more })
    const { send, reports } = await endpoint({
      inbox: mysqlInbox(pool, UNPURGED),
      timeoutSeconds: 1,
      maxRunSeconds: 1.5,
      on: { 'order.created': () => pool.query('SELECT 1') },
    })
    expect((await send(orderCreated())).outcome).toBe('timed_out')
    expect(reports[0]?.message).toMatch(
      /The pool of the inbox has no idle connection \(1 waiting\).*Use ctx\.tx alone/,
    )
  })
})

test('the connections of an inbox are those of its pool, one object for each, if the library reports them', () => {
  const at = { url: 'mysql://root@127.0.0.1:1/none' }
  const pg = (max: number): Pool => {
    const pool = new Pool({ max })
    onTestFinished(() => pool.end())
    return pool
  }
  const [pool, other] = [pg(7), pg(7)]
  const { connections } = postgresInbox(pool)
  expect(connections).toEqual({ max: 7 })
  expect(postgresInbox(pool, { table: 'another' }).connections).toBe(connections)
  expect(postgresInbox(other).connections).not.toBe(connections)

  const [mysql, otherMysql] = [MYSQL2.open(at, { connectionLimit: 7 }), MYSQL2.open(at)]
  const ofMysql = mysqlInbox(mysql).connections
  expect(ofMysql).toEqual({ max: 7 })
  expect(mysqlInbox(mysql, { table: 'another' }).connections).toBe(ofMysql)
  expect(mysqlInbox(otherMysql).connections).not.toBe(ofMysql)
  expect(mysqlInbox(MARIADB.open(at)).connections).toBeUndefined()
})
