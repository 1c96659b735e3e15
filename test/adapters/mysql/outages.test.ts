import { ddl, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { endpoint } from '../../support/postgres-endpoint.js'
import { SOON_HEADER } from '../../support/retry-after.js'
import { startProxy } from '../../support/tcp-proxy.js'
import { POOLS } from './pools.js'

const HOUR_MS = 3_600_000
const claimOf = (key: string) => ({ key, token: 't', leaseMs: HOUR_MS, retainMs: HOUR_MS })
const UNAVAILABLE = { status: 503, outcome: 'unavailable', retryAfter: SOON_HEADER }
const HANDLED = { status: 200, outcome: 'handled' }

interface Tx {
  query(sql: string): Promise<unknown>
}

onMysql('a MySQL that cannot be used', () => {
  const database = testMysqlDatabase(
    'CREATE TABLE effects (id VARCHAR(50))',
    ...ddl.split(';\n').filter((statement) => statement.trim() !== ''),
  )
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')

  /** A proxy before the server, and the database through it. */
  async function proxied() {
    const { hostname, port } = new URL(database.url)
    const proxy = await startProxy({ host: hostname, port: Number(port || 3306) })
    onTestFinished(() => proxy.close())
    const url = new URL(database.url)
    url.hostname = '127.0.0.1'
    url.port = `${proxy.port}`
    return { proxy, through: { url: url.href } }
  }

  describe.each(POOLS)('over $name,', ({ name, open }) => {
    beforeEach(async () => {
      for (const table of ['effects', 'tix_webhooks_inbox']) await database.query(`DELETE FROM ${table}`)
    })

    test('because the pool was ended, is answered 503, with what to do', async () => {
      const pool = open(database)
      await mysqlStore(pool).check()
      await pool.end()
      for (const protection of [{ store: mysqlStore(pool) }, { inbox: mysqlInbox(pool) }]) {
        const { send, reports } = await endpoint<unknown>({
          ...protection,
          on: { 'order.created': () => expect.fail('It ran') },
        })
        expect(await send(orderCreated())).toEqual(UNAVAILABLE)
        expect(reports).toEqual([
          expect.objectContaining({
            code: 'store_unavailable',
            message: expect.stringMatching(/^The pool is closed: drain the receiver before you end it/),
          }),
        ])
      }
    })

    test('because it refuses connections, is answered 503, and is used again when it is back', async () => {
      const { proxy, through } = await proxied()
      const pool = open(through, { more: name === 'mariadb' ? { acquireTimeout: 300 } : {} })
      const store = mysqlStore(pool)
      const { send, reports } = await endpoint({
        inbox: mysqlInbox(pool),
        on: {
          'order.created': async (event, { tx }) =>
            void (await (tx as unknown as Tx).query(`INSERT INTO effects VALUES ('${event.data.order.id}')`)),
        },
      })
      expect(await send(orderCreated({ id: 'before' }))).toEqual(HANDLED)
      await proxy.refuse()
      expect(await send(orderCreated({ id: 'after' }))).toEqual(UNAVAILABLE)
      await expect(store.claim(claimOf('k'))).rejects.toMatchObject({ code: 'store_unavailable' })
      expect(reports.map(({ code }) => code)).toEqual(['store_unavailable'])
      await proxy.pass()
      let answer = await send(orderCreated({ id: 'after' }))
      while (answer.status === 503) answer = await send(orderCreated({ id: 'after' }))
      expect(answer).toEqual(HANDLED)
      expect(await effects()).toEqual(['after', 'before'])
    })

    test('because no connection is free, is answered by the deadline, and never runs later', async () => {
      const pool = open(database, { connectionLimit: 1 })
      const held = await pool.getConnection()
      const { send, reports } = await endpoint({
        inbox: mysqlInbox(pool),
        timeoutSeconds: 0.2,
        on: { 'order.created': () => expect.fail('It ran') },
      })
      expect(await send(orderCreated())).toEqual(UNAVAILABLE)
      expect(reports[0]?.message).toMatch(
        /had not opened a transaction by the deadline \(timeoutSeconds\).*too small/,
      )
      await held.release()
      // Behind it, on the one connection.
      expect(await mysqlInbox(pool).once({ key: 'behind', retainMs: HOUR_MS }, async () => {})).toEqual({
        status: 'handled',
      })
    })

    test('because it answers nothing, is answered by the deadline, and runs when it does', async () => {
      const { proxy, through } = await proxied()
      const pool = open(through, { connectionLimit: 2 })
      const receiver = (timeoutSeconds: number) =>
        endpoint({
          inbox: mysqlInbox(pool),
          timeoutSeconds,
          on: {
            'order.created': async (event, { tx }) =>
              void (await (tx as unknown as Tx).query(
                `INSERT INTO effects VALUES ('${event.data.order.id}')`,
              )),
          },
        })
      const [{ send }, hasty] = [await receiver(5), await receiver(0.3)]
      expect(await send(orderCreated({ id: 'first' }))).toEqual(HANDLED)
      proxy.blackHole()
      expect(await hasty.send(orderCreated({ id: 'second' }))).toEqual(UNAVAILABLE)
      await proxy.pass()
      let answer = await send(orderCreated({ id: 'second' }))
      while (answer.status === 503) answer = await send(orderCreated({ id: 'second' }))
      expect(answer).toEqual(HANDLED)
      expect(await effects()).toEqual(['first', 'second'])
    })

    test.each([
      ['before', 0, HANDLED],
      ['after', 1, { status: 200, outcome: 'duplicate' }],
    ] as const)(
      'because the connection was lost %s the commit, is no 2xx, and the effect is there once',
      async (when, kept, next) => {
        const { proxy, through } = await proxied()
        const { send } = await endpoint({
          inbox: mysqlInbox(open(through)),
          on: {
            'order.created': async (event, { tx }) =>
              void (await (tx as unknown as Tx).query(
                `INSERT INTO effects VALUES ('${event.data.order.id}')`,
              )),
          },
        })
        const isCommit = (chunk: Buffer): boolean => /autocommit = 1\b/.test(chunk.toString('latin1'))
        const cut = when === 'before' ? proxy.cutBeforeRequest(isCommit) : proxy.cutAfterRequest(isCommit)
        const order = orderCreated({ id: `lost ${when}` })
        expect(await send(order)).toEqual(UNAVAILABLE)
        await cut
        await expect.poll(effects).toHaveLength(kept)
        let answer = await send(order)
        while (answer.status === 503) answer = await send(order)
        expect(answer).toEqual(next)
        expect(await effects()).toEqual([`lost ${when}`])
      },
    )
  })
})
