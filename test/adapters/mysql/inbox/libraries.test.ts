import { ddl } from 'tix-webhooks/mysql'
import { signedDelivery } from 'tix-webhooks/testing'
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { atOnce } from '../../../support/at-once.js'
import { orderCreated, SECRET } from '../../../support/deliveries.js'
import { testMysqlDatabase } from '../../../support/mysql-database.js'
import {
  insertOrder,
  MYSQL_LIBRARIES,
  type MysqlLibrary,
  openMysqlLibrary,
} from '../../../support/mysql-libraries.js'
import { onMysql } from '../../../support/on-servers.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { deferred, turns } from '../../../support/promises.js'

const HANDLED = { status: 200, outcome: 'handled' }
const NESTED = MYSQL_LIBRARIES.flatMap((library) =>
  Object.keys(library.nested).map((way) => ({ name: `${library.name}, ${way}`, library, way })),
)

onMysql('mysqlInbox, by the lines of docs/mysql-libraries.md,', () => {
  const database = testMysqlDatabase('CREATE TABLE orders (id VARCHAR(191) PRIMARY KEY)', ddl)
  const written = (prefix: string): Promise<unknown[]> =>
    database.column('SELECT SUBSTR(id, ?) FROM orders WHERE id LIKE ? ORDER BY id', [
      prefix.length + 1,
      `${prefix}%`,
    ])

  beforeEach(async () => {
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    vi.stubEnv('DATABASE_URL', database.url)
    // Sequelize prints warnings of its own.
    for (const method of ['log', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {})
    await database.query('DELETE FROM orders')
    return () => {
      vi.unstubAllEnvs()
      vi.restoreAllMocks()
    }
  })

  const opened = new Map<string, ReturnType<typeof load>>()

  async function load(library: MysqlLibrary) {
    const found = await openMysqlLibrary(library, database.url)
    return { ...found, close: () => library.close(found as never) }
  }

  /** One for all tests, but for those that run at once: each needs the one connection. */
  function open(library: MysqlLibrary) {
    const found = opened.get(library.name) ?? load(library)
    opened.set(library.name, found)
    return found
  }

  afterAll(async () => {
    for (const found of opened.values()) await (await found).close()
  })

  test.each(MYSQL_LIBRARIES)('has an effect exactly once over $name', async (library) => {
    const found = await open(library)
    const { inbox, POST } = found as typeof found & { POST?: (request: Request) => Promise<Response> }
    await inbox.migrate()
    if (POST !== undefined) {
      const delivery = await signedDelivery('order.created', { secret: SECRET })
      const send = async () => (await POST(delivery.toRequest('/hooks'))).json()
      expect(await send()).toEqual({ outcome: 'handled' })
      expect(await send()).toEqual({ outcome: 'duplicate' })
      expect(await written('')).toHaveLength(1)
    }
    const newest: boolean[] = []
    const change = { subject: 'show', at: '2026-05-17T14:02:11Z' }
    const { send } = await endpoint({
      inbox,
      on: { 'order.created': async (_event, { tx }) => void newest.push(await inbox.isNewest(tx, change)) },
    })
    const order = orderCreated()
    expect(await send(order)).toEqual(HANDLED)
    expect((await send(order)).outcome).toBe('duplicate')
    expect(newest).toEqual([true])
    expect(await inbox.purge()).toBe(0)
    const [key] = await database.column('SELECT CONVERT(`key` USING utf8mb4) FROM tix_webhooks_inbox')
    expect([await inbox.isHandled(String(key)), await inbox.isHandled('other')]).toEqual([true, false])
    await inbox.check()
    for (const table of ['tix_webhooks_inbox_newest', 'tix_webhooks_inbox']) {
      await database.query(`DELETE FROM ${table}`)
    }
  })

  /** A nested transaction that is still open when its run ends goes on while the next delivery has the connection. */
  async function outliveRun(row: (typeof NESTED)[number], how: string, end: string): Promise<void> {
    const { library } = row
    const found = await (how === 'given up' ? load(library) : open(library))
    if (how === 'given up') onTestFinished(async () => void (await found.close()))
    const prefix = `${row.name}, ${how}, ${end}: `
    const write = async (tx: never, id: string) =>
      library.run(tx, insertOrder(`${prefix}${id}`), found as never)
    const nested = (tx: never, work: (inner: never) => Promise<unknown>) =>
      library.nested[row.way]?.(tx, work, found as never)
    const [begun, resumed] = [deferred<void>(), deferred<void>()]
    let isFirst = true
    const first = await endpoint({
      inbox: found.inbox,
      ...(how === 'given up' ? { timeoutSeconds: 5, maxRunSeconds: 0.5 } : {}),
      on: {
        'order.created': async (_event, { tx }) => {
          if (!isFirst) return void (await write(tx, 'a'))
          isFirst = false
          const branch = nested(tx, async (inner) => {
            await write(inner, 'early')
            const made = [inner, tx].map((late, i) =>
              library.prepare?.(late, `${prefix}made ${i}`, found as never),
            )
            begun.resolve()
            await resumed.promise
            await Promise.allSettled([inner, tx].map(async (late, i) => write(late, `late ${i}`)))
            await Promise.allSettled(made.map(async (send) => send?.()))
            if (end === 'rejects') throw new Error('late')
          })
          const beside = begun.promise.then(() => {
            if (how !== 'given up') throw new Error('beside')
          })
          await Promise.all([branch, beside])
        },
      },
    })
    const second = await endpoint({
      inbox: found.inbox,
      on: {
        'order.created': async (_event, { tx }) => {
          await write(tx, 'b1')
          await nested(tx, async (inner) => {
            await write(inner, 'b2')
            resumed.resolve()
            for (const id of ['b3', 'b4', 'b5', 'b6']) {
              await turns(3)
              await write(inner, id)
            }
          })
        },
      },
    })
    const a = orderCreated({ id: `${prefix}a` })
    expect((await first.send(a)).status).toBe(how === 'given up' ? 503 : 500)
    expect(await second.send(orderCreated({ id: `${prefix}b` }))).toEqual(HANDLED)
    expect(await written(prefix)).toEqual(['b1', 'b2', 'b3', 'b4', 'b5', 'b6'])
    // Its limit can end a good run too, on a slow machine.
    while ((await first.send(a)).status !== 200);
    expect(await written(prefix)).toEqual(['a', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6'])
  }

  test.each(NESTED)('keeps a nested transaction beside a failing branch to itself: $name', async (row) => {
    await outliveRun(row, 'beside', 'resolves')
    await outliveRun(row, 'beside', 'rejects')
  })

  test('keeps a nested transaction that is given up to itself', async () => {
    await atOnce(NESTED, (row) => outliveRun(row, 'given up', 'rejects'))
  })

  test.each(MYSQL_LIBRARIES)(
    'writes nothing of statements beside one that fails over $name',
    async (library) => {
      const found = await open(library)
      const write = async (tx: never, id: string) => library.run(tx, insertOrder(id), found as never)
      const { send } = await endpoint({
        inbox: found.inbox,
        on: {
          'order.created': async (_event, { tx }) => {
            await write(tx, 'first')
            await Promise.all(['first', 'second', 'third', 'fourth'].map((id) => write(tx, id)))
          },
        },
      })
      expect((await send(orderCreated({ id: library.name }))).status).toBe(500)
      await send(orderCreated({ id: library.name }))
      await turns(5)
      expect(await written('')).toEqual([])
    },
  )

  // An 'error' that nothing listens for would end the process, and fails this run.
  test.each(MYSQL_LIBRARIES)(
    'survives sessions that are killed in a transaction over $name',
    async (library) => {
      const found = await open(library)
      const run = (tx: never, statement: string) => library.run(tx, statement, found as never)
      let runs = 0
      const { send } = await endpoint({
        inbox: found.inbox,
        on: {
          'order.created': async (_event, { tx }) => {
            runs++
            await run(tx, insertOrder('once'))
            // In a statement, and between two.
            if (runs === 1) await run(tx, 'KILL CONNECTION_ID()')
            if (runs === 2) {
              await run(tx, `DO GET_LOCK('${database.name}', 0)`)
              await database.query(`KILL ${await database.column('SELECT IS_USED_LOCK(DATABASE())')}`)
              await run(tx, insertOrder('never'))
            }
          },
        },
      })
      const order = orderCreated({ id: `killed ${library.name}` })
      for (const _ of ['in a statement', 'between two']) {
        expect((await send(order)).status).toBeGreaterThanOrEqual(500)
      }
      // A pool may give the next transaction the connection that is about to close.
      while ((await send(order)).status !== 200);
      expect(await written('')).toEqual(['once'])
    },
  )
})
