import type { SqlEntityManager } from '@mikro-orm/postgresql'
import { ddl as mysqlDdl } from 'tix-webhooks/mysql'
import { type PostgresInbox, ddl as postgresDdl } from 'tix-webhooks/postgres'
import { signedDelivery } from 'tix-webhooks/testing'
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { atOnce } from '../../support/at-once.js'
import { orderCreated, SECRET } from '../../support/deliveries.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { insertOrder, MYSQL_LIBRARIES, openMysqlLibrary } from '../../support/mysql-libraries.js'
import { onMysql, onPostgres } from '../../support/on-servers.js'
import { testDatabase } from '../../support/postgres-database.js'
import { endpoint } from '../../support/postgres-endpoint.js'
import { LIBRARIES, loadSnippet } from '../../support/postgres-libraries.js'
import { deferred, turns } from '../../support/promises.js'

const HANDLED = { status: 200, outcome: 'handled' }

interface Opened {
  /** That of MySQL has the same methods. */
  readonly inbox: PostgresInbox<never>
  POST?(request: Request): Promise<Response>
}

/** A library, as a handler uses it. */
interface Row {
  readonly name: string
  open(): Promise<Opened>
  close(opened: never): Promise<unknown>
  write(tx: never, id: string, opened: never): Promise<unknown>
  prepare?(tx: never, id: string, opened: never): () => Promise<unknown>
  readonly nested: Readonly<
    Record<string, (tx: never, work: (inner: never) => Promise<unknown>, opened: never) => Promise<unknown>>
  >
}

interface Database {
  /** The ids of the orders that begin so, without that. */
  written(prefix: string): Promise<unknown[]>
  query(sql: string): Promise<unknown>
  /** Ends the session of a transaction: by a statement in it, and between two of its statements. */
  endIn(library: Row, tx: never, opened: never): Promise<unknown>
  endBetween(library: Row, tx: never, opened: never): Promise<unknown>
  /** Has the lines of the documentation connect to it. */
  stubEnv(): void
}

const BACKENDS: readonly {
  readonly name: string
  readonly describe: typeof onPostgres
  readonly rows: readonly Row[]
  prepare(): Database
}[] = [
  {
    name: 'postgresInbox, by the files of examples/libraries,',
    describe: onPostgres,
    rows: LIBRARIES.map((library) => ({
      ...library,
      open: () => loadSnippet(library.name) as Promise<Opened>,
    })),
    prepare() {
      const database = testDatabase(
        'CREATE TABLE orders (id text PRIMARY KEY)',
        "CREATE FUNCTION terminate() RETURNS trigger AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END' LANGUAGE plpgsql",
        "CREATE TRIGGER terminate BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.id = 'terminate') EXECUTE FUNCTION terminate()",
        postgresDdl,
      )
      return {
        written: (prefix) =>
          database.column('SELECT substr(id, $2) FROM orders WHERE starts_with(id, $1) ORDER BY id', [
            prefix,
            prefix.length + 1,
          ]),
        query: (sql) => database.query(sql),
        endIn: (library, tx, opened) => library.write(tx, 'terminate', opened),
        endBetween: () =>
          database.query(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE relation = 'orders'::regclass AND mode = 'RowExclusiveLock'",
          ),
        stubEnv() {
          const url = new URL(database.url)
          url.searchParams.set('options', database.settings())
          vi.stubEnv('DATABASE_URL', url.href)
          // MikroORM ignores them in the URL, and postgres.js in the environment.
          vi.stubEnv('PGOPTIONS', database.settings())
        },
      }
    },
  },
  {
    name: 'mysqlInbox, by the files of examples/libraries,',
    describe: onMysql,
    rows: MYSQL_LIBRARIES.map((library) => ({
      ...library,
      open: () =>
        openMysqlLibrary(library, String(process.env.DATABASE_URL)) as Promise<unknown> as Promise<Opened>,
      write: async (tx, id, opened) => library.run(tx, insertOrder(id), opened),
    })),
    prepare() {
      const database = testMysqlDatabase('CREATE TABLE orders (id VARCHAR(191) PRIMARY KEY)', mysqlDdl)
      const run = (library: Row, tx: never, statement: string, opened: never) =>
        MYSQL_LIBRARIES.find(({ name }) => name === library.name)?.run(tx, statement, opened)
      return {
        written: (prefix) =>
          database.column('SELECT SUBSTR(id, ?) FROM orders WHERE id LIKE ? ORDER BY id', [
            prefix.length + 1,
            `${prefix}%`,
          ]),
        query: (sql) => database.query(sql),
        endIn: async (library, tx, opened) => run(library, tx, 'KILL CONNECTION_ID()', opened),
        async endBetween(library, tx, opened) {
          await run(library, tx, `DO GET_LOCK('${database.name}', 0)`, opened)
          await database.query(`KILL ${await database.column('SELECT IS_USED_LOCK(DATABASE())')}`)
        },
        stubEnv: () => void vi.stubEnv('DATABASE_URL', database.url),
      }
    },
  },
]

for (const { name, describe, rows, prepare } of BACKENDS) {
  describe(name, () => {
    const database = prepare()
    const nestedRows = rows.flatMap((library) =>
      Object.keys(library.nested).map((way) => ({ name: `${library.name}, ${way}`, library, way })),
    )

    beforeEach(async () => {
      vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
      database.stubEnv()
      // Sequelize and pg-promise print warnings of their own.
      for (const method of ['log', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {})
      await database.query('DELETE FROM orders')
      return () => {
        vi.unstubAllEnvs()
        vi.restoreAllMocks()
      }
    })

    const opened = new Map<string, Promise<Opened>>()
    /** One for all tests, but for those that run at once: each needs the one connection. */
    function open(library: Row): Promise<Opened> {
      const found = opened.get(library.name) ?? library.open()
      opened.set(library.name, found)
      return found
    }
    afterAll(async () => {
      for (const library of rows) {
        const found = opened.get(library.name)
        if (found !== undefined) await library.close((await found) as never)
      }
    })

    test.each(rows)('has an effect exactly once over $name', async (library) => {
      const { inbox, POST } = await open(library)
      await inbox.migrate()
      if (POST !== undefined) {
        const delivery = await signedDelivery('order.created', { secret: SECRET })
        const send = async () => (await POST(delivery.toRequest('/hooks'))).json()
        expect(await send()).toEqual({ outcome: 'handled' })
        expect(await send()).toEqual({ outcome: 'duplicate' })
        expect(await database.written('')).toHaveLength(1)
      }
      const keys: string[] = []
      const newest: boolean[] = []
      const { send } = await endpoint({
        inbox,
        on: {
          'order.created': async (_event, { tx, key }) => {
            keys.push(String(key))
            const change = { subject: 'show', at: '2026-05-17T14:02:11Z' }
            newest.push(await inbox.isNewest(tx, change))
          },
        },
      })
      const order = orderCreated()
      expect(await send(order)).toEqual(HANDLED)
      expect((await send(order)).outcome).toBe('duplicate')
      expect(newest).toEqual([true])
      expect([await inbox.isHandled(String(keys[0])), await inbox.isHandled('other')]).toEqual([true, false])
      expect(await inbox.purge()).toBe(0)
      await inbox.check()
      for (const table of ['tix_webhooks_inbox_newest', 'tix_webhooks_inbox']) {
        await database.query(`DELETE FROM ${table}`)
      }
    })

    /** A nested transaction that is still open when its run ends goes on while the next delivery has the connection. */
    async function outliveRun(row: (typeof nestedRows)[number], how: string, end: string): Promise<void> {
      const { library } = row
      const found = (await (how === 'given up' ? library.open() : open(library))) as never
      if (how === 'given up') onTestFinished(async () => void (await library.close(found)))
      const { inbox } = found as { inbox: PostgresInbox<never> }
      const prefix = `${row.name}, ${how}, ${end}: `
      const write = async (tx: never, id: string) => library.write(tx, `${prefix}${id}`, found)
      const nested = (tx: never, work: (inner: never) => Promise<unknown>) =>
        library.nested[row.way]?.(tx, work, found)
      const [begun, resumed] = [deferred<void>(), deferred<void>()]
      let isFirst = true
      const first = await endpoint({
        inbox,
        ...(how === 'given up' ? { timeoutSeconds: 5, maxRunSeconds: 0.5 } : {}),
        on: {
          'order.created': async (_event, { tx }) => {
            if (!isFirst) return void (await write(tx, 'a'))
            isFirst = false
            const branch = nested(tx, async (inner) => {
              await write(inner, 'early')
              const made = [inner, tx].map((late, i) => library.prepare?.(late, `${prefix}made ${i}`, found))
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
        inbox,
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
      const b = orderCreated({ id: `${prefix}b` })
      // A query runner of TypeORM gives its connection back in the middle of a transaction.
      if (row.way === 'a query runner' && name.startsWith('postgres')) {
        expect((await second.send(b)).status).toBe(503)
      }
      expect(await second.send(b)).toEqual(HANDLED)
      expect(await database.written(prefix)).toEqual(['b1', 'b2', 'b3', 'b4', 'b5', 'b6'])
      // Its limit can end a good run too, on a slow machine.
      while ((await first.send(a)).status !== 200);
      expect(await database.written(prefix)).toEqual(['a', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6'])
    }

    test.each(nestedRows)(
      'keeps a nested transaction beside a failing branch to itself: $name',
      async (row) => {
        await outliveRun(row, 'beside', 'resolves')
        await outliveRun(row, 'beside', 'rejects')
      },
    )

    test('keeps a nested transaction that is given up to itself', () =>
      atOnce(nestedRows, (row) => outliveRun(row, 'given up', 'rejects')))

    test.each(rows)('writes nothing of statements beside one that fails over $name', async (library) => {
      const found = await open(library)
      const { send } = await endpoint({
        inbox: found.inbox,
        on: {
          'order.created': async (_event, { tx }) => {
            const write = async (id: string) => library.write(tx, id, found as never)
            await write('first')
            await Promise.all(['first', 'second', 'third', 'fourth'].map(write))
          },
        },
      })
      expect((await send(orderCreated({ id: library.name }))).status).toBe(500)
      await send(orderCreated({ id: library.name }))
      await turns(5)
      expect(await database.written('')).toEqual([])
    })

    // An 'error' that nothing listens for would end the process, and fails this run.
    test.each(rows)('survives sessions that are ended in a transaction over $name', async (library) => {
      const found = (await open(library)) as never
      let run = 0
      const { send } = await endpoint({
        inbox: (found as { inbox: PostgresInbox<never> }).inbox,
        on: {
          'order.created': async (_event, { tx }) => {
            run++
            await library.write(tx, 'once', found)
            if (run === 1) await database.endIn(library, tx, found)
            if (run !== 2) return
            await database.endBetween(library, tx, found)
            await library.write(tx, 'never', found)
          },
        },
      })
      const order = orderCreated({ id: `ended ${library.name}` })
      for (const _ of ['in a statement', 'between two']) {
        expect((await send(order)).status).toBeGreaterThanOrEqual(500)
      }
      // A pool may give the next transaction the connection that is about to close.
      while ((await send(order)).status !== 200);
      expect(await database.written('')).toEqual(['once'])
    })

    const mikro = rows.find((library) => library.name === 'MikroORM')
    test.runIf(mikro)(
      'says that it was the flush of MikroORM that failed, after the handler had returned',
      async () => {
        const { inbox } = (await open(mikro as Row)) as unknown as { inbox: PostgresInbox<SqlEntityManager> }
        await database.query("INSERT INTO orders VALUES ('taken')")
        const { send, reports } = await endpoint({
          inbox,
          on: { 'order.created': (_event, { tx }) => void tx.persist(tx.create('Order', { id: 'taken' })) },
        })
        expect((await send(orderCreated())).status).toBe(503)
        expect(reports[0]?.message).toMatch(/the end of its transaction failed.* the flush of MikroORM/)
      },
    )
  })
}
