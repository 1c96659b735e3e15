import type { SqlEntityManager } from '@mikro-orm/postgresql'
import type { Knex } from 'knex'
import type { Transaction } from 'sequelize'
import { ddl as mysqlDdl } from 'tix-webhooks/mysql'
import { type PostgresInbox, ddl as postgresDdl } from 'tix-webhooks/postgres'
import { signedDelivery } from 'tix-webhooks/testing'
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { atOnce } from '../../support/at-once.js'
import { orderCreated, SECRET } from '../../support/deliveries.js'
import { deadlock, MYSQL_EFFECTS } from '../../support/inbox-harnesses.js'
import {
  type Library,
  MYSQL_LIBRARIES,
  type OpenLibrary,
  openLibrary,
  POSTGRES_LIBRARIES,
} from '../../support/libraries.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql, onPostgres } from '../../support/on-servers.js'
import { testDatabase } from '../../support/postgres-database.js'
import { endpoint } from '../../support/postgres-endpoint.js'
import { deferred, turns } from '../../support/promises.js'

const HANDLED = { status: 200, outcome: 'handled' }
const AT = '2026-05-17T14:02:11Z'

interface Database {
  readonly url: string
  query(sql: string): Promise<unknown>
  column(sql: string): Promise<unknown[]>
}

/** The objects of its library that a handler can use, and the number of its run. */
interface Uses {
  readonly inbox: PostgresInbox<never>
  readonly names: never
  run(tx: never, statement: string): Promise<unknown>
  write(tx: never, id: string): Promise<unknown>
}

type Handler = (tx: never, uses: Uses, run: number) => unknown

/** Opens libraries on a database, each once for all tests. */
function onLibraries(name: 'postgres' | 'mysql', database: Database, urlOf: () => string) {
  const opened = new Map<Library, Promise<OpenLibrary>>()

  beforeEach(async () => {
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    vi.stubEnv('DATABASE_URL', urlOf())
    // Sequelize and pg-promise print warnings of their own.
    for (const method of ['log', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {})
    for (const table of ['orders', 'tix_webhooks_events', 'tix_webhooks_events_newest']) {
      await database.query(`DELETE FROM ${table}`)
    }
    return () => {
      vi.unstubAllEnvs()
      vi.restoreAllMocks()
    }
  })
  afterAll(async () => {
    for (const [library, names] of opened) await library.close((await names) as never)
    vi.unstubAllEnvs()
  })

  function open(library: Library): Promise<OpenLibrary> {
    const found = opened.get(library) ?? openLibrary(name, urlOf(), library)
    opened.set(library, found)
    return found
  }

  /** One of its own, for tests that run at once: each needs the one connection. */
  async function openOwn(library: Library): Promise<OpenLibrary> {
    const names = await openLibrary(name, urlOf(), library)
    onTestFinished(async () => void (await library.close(names as never)))
    return names
  }

  function over(library: Library, names: OpenLibrary, handler: Handler, options: object = {}) {
    const run = async (tx: never, statement: string) => library.run(tx, statement, names as never)
    const write = (tx: never, id: string) => run(tx, `INSERT INTO orders VALUES ('${id}')`)
    const uses: Uses = { inbox: names.inbox, names: names as never, run, write }
    let runs = 0
    const on = {
      'order.created': async (_: unknown, { tx }: { tx: never }) => void (await handler(tx, uses, ++runs)),
    }
    return endpoint<never>({ inbox: names.inbox, on, ...options })
  }

  return {
    open,
    openOwn,
    over,
    overOpen: async (library: Library, handler: Handler) => over(library, await open(library), handler),
    written: () => database.column('SELECT id FROM orders ORDER BY id'),
  }
}

const BACKENDS = [
  {
    name: 'postgres',
    describe: onPostgres,
    libraries: POSTGRES_LIBRARIES,
    prepare: preparePostgres,
    /** Ends the session of a transaction: by a statement in it, and between two of its statements. */
    endIn: 'SELECT pg_terminate_backend(pg_backend_pid())',
    async endBetween(database: Database) {
      await database.query(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE relation = 'orders'::regclass AND mode = 'RowExclusiveLock'",
      )
    },
  },
  {
    name: 'mysql',
    describe: onMysql,
    libraries: MYSQL_LIBRARIES,
    prepare: prepareMysql,
    endIn: 'KILL CONNECTION_ID()',
    async endBetween(database: Database, run: (statement: string) => Promise<unknown>) {
      await run("DO GET_LOCK('to be killed', 0)")
      await database.query(`KILL ${await database.column("SELECT IS_USED_LOCK('to be killed')")}`)
    },
  },
] as const

function preparePostgres() {
  const database = testDatabase('CREATE TABLE orders (id text PRIMARY KEY)', postgresDdl)
  function urlOf(): string {
    // MikroORM ignores them in the URL, and postgres.js in the environment.
    vi.stubEnv('PGOPTIONS', database.settings())
    const url = new URL(database.url)
    url.searchParams.set('options', database.settings())
    return url.href
  }
  return { database, ...onLibraries('postgres', database, urlOf) }
}

function prepareMysql() {
  const database = testMysqlDatabase(
    'CREATE TABLE orders (id VARCHAR(191) PRIMARY KEY)',
    ...MYSQL_EFFECTS,
    mysqlDdl,
  )
  return { database, ...onLibraries('mysql', database, () => database.url) }
}

for (const { describe, libraries, ...backend } of BACKENDS) {
  describe(`an inbox of ${backend.name} over a library`, () => {
    const { database, open, openOwn, over, overOpen, written } = backend.prepare()

    test.each(libraries)('has an effect exactly once over $name', async (library) => {
      const { inbox, POST } = await open(library)
      await inbox.migrate()
      const delivery = await signedDelivery('order.created', { secret: SECRET })
      const sendOne = async () => (await POST(delivery.toRequest('/hooks'))).json()
      expect(await sendOne()).toEqual({ outcome: 'handled' })
      expect(await sendOne()).toEqual({ outcome: 'duplicate' })
      expect(await written()).toHaveLength(1)
      const newest: boolean[] = []
      const { send } = await overOpen(library, async (tx) => {
        newest.push(await inbox.recordIfNewest(tx, { subject: 'show', at: AT }))
      })
      const order = orderCreated({ id: 'newest' })
      expect(await send(order)).toEqual(HANDLED)
      expect((await send(order)).outcome).toBe('duplicate')
      expect(newest).toEqual([true])
      const keys = ['test/order.created/newest', 'other']
      expect(await Promise.all(keys.map((key) => inbox.isHandled(key)))).toEqual([true, false])
      expect(await inbox.purge()).toBe(0)
      await inbox.check()
    })

    const nestedRows = libraries.flatMap((library) =>
      Object.entries(library.nested).map(([way, nest]) => ({
        name: `${library.name}, ${way}`,
        library,
        nest,
      })),
    )

    /** A nested transaction that is still open when its run ends goes on while the next delivery has the connection. */
    async function outliveRun(
      { name, library, nest }: (typeof nestedRows)[number],
      how: 'beside' | 'given up',
      end: 'resolves' | 'rejects',
    ): Promise<void> {
      const names = await (how === 'given up' ? openOwn : open)(library)
      const prefix = `${name}, ${how}, ${end}: `
      const [begun, resumed] = [deferred<void>(), deferred<void>()]
      async function first(tx: never, { write, names }: Uses, run: number): Promise<void> {
        if (run > 1) return void (await write(tx, `${prefix}a`))
        const branch = nest(
          tx,
          async (inner) => {
            await write(inner, `${prefix}early`)
            const made = [inner, tx].map((late, i) => library.prepare?.(late, `${prefix}made ${i}`, names))
            begun.resolve()
            await resumed.promise
            await Promise.allSettled([inner, tx].map((late, i) => write(late, `${prefix}late ${i}`)))
            await Promise.allSettled(made.map(async (send) => send?.()))
            if (end === 'rejects') throw new Error('late')
          },
          names,
        )
        const beside = begun.promise.then(() => {
          if (how !== 'given up') throw new Error('beside')
        })
        await Promise.all([branch, beside])
      }
      async function second(tx: never, { write, names }: Uses): Promise<void> {
        await write(tx, `${prefix}b1`)
        const work = async (inner: never): Promise<void> => {
          await write(inner, `${prefix}b2`)
          resumed.resolve()
          for (const id of ['b3', 'b4', 'b5', 'b6']) {
            await turns(3)
            await write(inner, `${prefix}${id}`)
          }
        }
        await nest(tx, work, names)
      }
      const limits = how === 'given up' ? { timeoutSeconds: 60, maxRunSeconds: 1 } : {}
      const sendFirst = (await over(library, names, first, limits)).send
      const sendSecond = (await over(library, names, second)).send
      const stored = async () => (await written()).filter((id) => String(id).startsWith(prefix))
      const [a, b] = [orderCreated({ id: `${prefix}a` }), orderCreated({ id: `${prefix}b` })]
      expect((await sendFirst(a)).status).toBe(how === 'given up' ? 503 : 500)
      expect(await sendSecond(b)).toEqual(HANDLED)
      const ofSecond = ['b1', 'b2', 'b3', 'b4', 'b5', 'b6'].map((id) => `${prefix}${id}`)
      expect(await stored()).toEqual(ofSecond)
      // Its limit can end a good run too, on a slow machine.
      while ((await sendFirst(a)).status !== 200);
      expect(await stored()).toEqual([`${prefix}a`, ...ofSecond])
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

    const leaving = libraries.filter((library) => library.leaveOpen !== undefined)
    test.each(
      leaving.flatMap((library) => ['returns', 'throws'].map((end) => ({ ...library, library, end }))),
    )(
      'commits all or nothing over $name of a handler that leaves a nested transaction open, and $end',
      async ({ library, end }) => {
        const { send } = await overOpen(library, async (tx, { write, names }, run) => {
          await write(tx, `run ${run}`)
          if (run > 1) return
          await library.leaveOpen?.(tx, names)
          if (end === 'throws') throw new Error('later')
        })
        const [first, second] = [orderCreated({ id: 'first' }), orderCreated({ id: 'second' })]
        // TypeORM would end the nested one alone.
        const isLeft = library.name === 'TypeORM'
        expect((await send(first)).status).toBe(end === 'throws' ? 500 : isLeft ? 503 : 200)
        const kept = end === 'throws' || isLeft ? [] : ['run 1']
        expect(await written()).toEqual(kept)
        // TypeORM may give the connection back in the middle of the first one.
        while ((await send(second)).status !== 200);
        expect(await written()).toHaveLength(kept.length + 1)
        expect((await send(first)).outcome).toBe(kept.length > 0 ? 'duplicate' : 'handled')
        expect(await written()).toHaveLength(2)
      },
    )

    test.each(libraries)('writes nothing of statements beside one that fails over $name', async (library) => {
      let looping: Promise<void> | undefined
      const { send } = await overOpen(library, async (tx, { write }, run) => {
        await write(tx, 'first')
        looping = loop(tx, write, `of ${run} `)
        await Promise.all(['first', 'second', 'third', 'fourth'].map((id) => write(tx, id)))
      })
      /** One after the other, also while the transaction is rolled back: what Slonik is given then it still sends. */
      async function loop(tx: never, write: Uses['write'], prefix: string): Promise<void> {
        let hasFailed = false
        for (let i = 0; i < 30 && !(hasFailed && library.name === 'Slonik'); i++) {
          await write(tx, prefix + i).catch(() => {
            hasFailed = true
          })
        }
      }
      for (let time = 0; time < 2; time++) {
        // A pool may give the next transaction the connection that is about to close.
        let answer = await send(orderCreated())
        while (answer.outcome === 'unavailable') answer = await send(orderCreated())
        expect(answer.status).toBe(500)
        await looping
      }
      expect(await written()).toEqual([])
    })

    // An 'error' that nothing listens for would end the process, and fails this run.
    test.each(libraries)('survives sessions that are ended in a transaction over $name', async (library) => {
      const { send } = await overOpen(library, async (tx, { run, write }, count) => {
        await write(tx, 'once')
        if (count === 1) await run(tx, backend.endIn)
        if (count !== 2) return
        await backend.endBetween(database, (statement) => run(tx, statement))
        await write(tx, 'never')
      })
      const order = orderCreated()
      for (const _ of ['in a statement', 'between two']) {
        expect((await send(order)).status).toBeGreaterThanOrEqual(500)
      }
      // A pool may give the next transaction the connection that is about to close.
      while ((await send(order)).status !== 200);
      expect(await written()).toEqual(['once'])
    })
  })
}

onPostgres('a handler of postgresInbox', () => {
  const { database, open, overOpen, written } = preparePostgres()

  function named(name: string): Library {
    return POSTGRES_LIBRARIES.find((library) => library.name === name) as Library
  }

  test('commits a nested transaction of Knex itself', async () => {
    const { send } = await overOpen(named('Knex'), (trx: Knex.Transaction) =>
      trx.transaction(async (inner) => {
        await inner('orders').insert({ id: 'a' })
        await inner.commit()
      }),
    )
    expect(await send(orderCreated())).toEqual(HANDLED)
    expect(await written()).toEqual(['a'])
  })

  test('listens to Knex, and has a hook of Sequelize called after the commit', async () => {
    const hook = vi.fn()
    const knex = await overOpen(named('Knex'), async (trx: Knex.Transaction, { write }) => {
      trx.on('query', async () => turns(50))
      await write(trx as never, 'a')
    })
    const sequelize = await overOpen(named('Sequelize'), async (transaction: Transaction, { write }) => {
      await write(transaction as never, 'b')
      transaction.afterCommit(hook)
    })
    expect(await knex.send(orderCreated({ id: 'a' }))).toEqual(HANDLED)
    expect(await sequelize.send(orderCreated({ id: 'b' }))).toEqual(HANDLED)
    expect(hook).toHaveBeenCalledOnce()
    expect(await written()).toEqual(['a', 'b'])
  })

  test('is told that it was the flush of MikroORM that failed, after it had returned', async () => {
    await open(named('MikroORM'))
    await database.query("INSERT INTO orders VALUES ('taken')")
    const { send, reports } = await overOpen(
      named('MikroORM'),
      (tx: SqlEntityManager) => void tx.persist(tx.create('Order', { id: 'taken' })),
    )
    expect((await send(orderCreated())).status).toBe(503)
    expect(reports[0]?.message).toMatch(/the end of its transaction failed.* the flush of MikroORM/)
  })
})

onMysql.each(MYSQL_LIBRARIES)('a handler of mysqlInbox over $name', (library) => {
  const { database, overOpen, written } = prepareMysql()
  const recorded = (): Promise<unknown[]> =>
    database.column("SELECT event_key FROM tix_webhooks_events WHERE state <> 'released'")
  /** Drizzle is in a transaction of the pool of mysql2, and Objection in one of Knex. */
  const isOfAnother = ['Drizzle', 'Objection'].includes(library.name)

  test.each(Object.entries(library.nested))(
    'asks recordIfNewest in its transaction, and beside a nested one: %s',
    async (_, nest) => {
      const answers: unknown[] = []
      const inners = new Set<boolean>()
      const ask = async (inbox: Uses['inbox'], tx: never, subject: string): Promise<void> =>
        void answers.push(await inbox.recordIfNewest(tx, { subject, at: AT }).catch(String))
      const { send } = await overOpen(library, async (tx, { inbox, names }) => {
        await ask(inbox, tx, 'a')
        const work = async (inner: never): Promise<void> => {
          inners.add(inner !== tx)
          await ask(inbox, tx, 'b')
          await ask(inbox, inner, 'c')
        }
        await nest(tx, work, names)
      })
      expect(await send(orderCreated())).toEqual(HANDLED)
      // A savepoint by a statement, and TypeORM, have no object of their own.
      const isOwn = inners.has(true)
      const refused = expect.stringMatching(/^TypeError: .* pass ctx.tx itself/)
      expect(answers).toEqual([true, true, isOwn ? refused : true])
      const counted = await database.column('SELECT COUNT(*) FROM tix_webhooks_events_newest')
      expect(counted).toEqual([isOwn ? 2 : 3])
    },
  )

  test('asks recordIfNewest outside of them, and is refused', async () => {
    const refusals: unknown[] = []
    let earlier: never | undefined
    const { send } = await overOpen(library, async (tx, { inbox, names }) => {
      for (const outside of [library.outside?.(names) as never, earlier ?? tx]) {
        refusals.push(await inbox.recordIfNewest(outside, { subject: 'a', at: AT }).catch(String))
      }
      earlier ??= tx
    })
    for (const id of ['first', 'second']) expect(await send(orderCreated({ id }))).toEqual(HANDLED)
    const outside = expect.stringMatching(
      /^TypeError: recordIfNewest was not called in the transaction of the inbox/,
    )
    expect(refusals).toEqual([outside, true, outside, expect.stringMatching(/not called in|is over/)])
  })

  test.skipIf(isOfAnother)('creates a table, and is told that it committed', async () => {
    await database.query('DROP TABLE IF EXISTS surprise')
    const { send, reports } = await overOpen(library, async (tx, { run, write }, count) => {
      await write(tx, `run ${count}`)
      // Hidden, as in a procedure: a pool refuses what is plain.
      if (count === 1) await run(tx, '/*! CREATE TABLE surprise (id INT PRIMARY KEY) */')
    })
    const order = orderCreated()
    expect((await send(order)).status).toBe(503)
    expect(reports[0]?.message).toMatch(/^The handler COMMITTED the transaction of the inbox/)
    expect(await recorded()).toEqual([])
    expect(await send(order)).toEqual(HANDLED)
  })
  test.skipIf(isOfAnother)('swallows a deadlock, and is not acknowledged', async () => {
    const { send } = await overOpen(library, async (tx, { run, write }, count) => {
      await write(tx, `early ${count}`)
      if (count === 1) await deadlock(database, (statement) => run(tx, statement)).catch(() => {})
      await write(tx, `late ${count}`)
    })
    const order = orderCreated()
    expect((await send(order)).status).toBeGreaterThanOrEqual(500)
    expect(await recorded()).toEqual([])
    expect(await send(order)).toEqual(HANDLED)
    expect(await written()).toEqual(expect.arrayContaining(['early 2', 'late 2']))
  })
})
