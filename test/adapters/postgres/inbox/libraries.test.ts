import type { SqlEntityManager } from '@mikro-orm/postgresql'
import { ddl, type PostgresInbox } from 'tix-webhooks/postgres'
import { signedDelivery } from 'tix-webhooks/testing'
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { atOnce } from '../../../support/at-once.js'
import { orderCreated, SECRET } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { LIBRARIES, type Library, loadSnippet } from '../../../support/postgres-libraries.js'
import { deferred, turns } from '../../../support/promises.js'

/** An order that ends its connection. */
const TERMINATE = 'terminate'

const HANDLED = { status: 200, outcome: 'handled' }
const NESTED = LIBRARIES.flatMap((library) =>
  Object.keys(library.nested).map((way) => ({ name: `${library.name}, ${way}`, library, way })),
)

onPostgres('postgresInbox, by the files of examples/libraries,', () => {
  const database = testDatabase(
    'CREATE TABLE orders (id text PRIMARY KEY)',
    "CREATE FUNCTION terminate() RETURNS trigger AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END' LANGUAGE plpgsql",
    `CREATE TRIGGER terminate BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.id = '${TERMINATE}') EXECUTE FUNCTION terminate()`,
    ddl,
  )
  const written = (prefix: string): Promise<unknown[]> =>
    database.column('SELECT substr(id, $2) FROM orders WHERE starts_with(id, $1) ORDER BY id', [
      prefix,
      prefix.length + 1,
    ])

  beforeEach(async () => {
    vi.stubEnv('TIX_SIGNING_SECRET', SECRET)
    const url = new URL(database.url)
    url.searchParams.set('options', database.settings())
    vi.stubEnv('DATABASE_URL', url.href)
    // MikroORM ignores them in the URL, and postgres.js in the environment.
    vi.stubEnv('PGOPTIONS', database.settings())
    // Sequelize and pg-promise print warnings of their own.
    for (const method of ['log', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {})
    await database.query('TRUNCATE orders')
    return () => {
      vi.unstubAllEnvs()
      vi.restoreAllMocks()
    }
  })

  const opened = new Map<string, ReturnType<typeof load>>()

  async function load(library: Library) {
    const snippet = await loadSnippet(library.name)
    return { ...snippet, close: () => library.close(snippet as never) }
  }

  /** One for all tests, but for those that run at once: each needs the one connection. */
  function open(library: Library) {
    const snippet = opened.get(library.name) ?? load(library)
    opened.set(library.name, snippet)
    return snippet
  }

  afterAll(async () => {
    for (const snippet of opened.values()) await (await snippet).close()
  })

  test.each(LIBRARIES)('has an effect exactly once over $name', async (library) => {
    const { inbox, POST } = await open(library)
    await inbox.migrate()
    const delivery = await signedDelivery('order.created', { secret: SECRET })
    const send = async () => (await POST(delivery.toRequest('/hooks'))).json()
    expect(await send()).toEqual({ outcome: 'handled' })
    expect(await send()).toEqual({ outcome: 'duplicate' })
    expect(await written('')).toHaveLength(1)
    expect(await inbox.purge()).toBe(0)
    const [key] = await database.column('SELECT key FROM tix_webhooks_inbox')
    expect(await Promise.all([inbox.isHandled(String(key)), inbox.isHandled('other')])).toEqual([true, false])
    await inbox.check()
    const newest: boolean[] = []
    const change = { subject: 'show', at: '2026-05-17T14:02:11Z' }
    const { send: deliver } = await endpoint({
      inbox,
      on: { 'order.created': async (_event, { tx }) => void newest.push(await inbox.isNewest(tx, change)) },
    })
    expect(await deliver(orderCreated())).toEqual(HANDLED)
    expect(newest).toEqual([true])
    await database.query('TRUNCATE tix_webhooks_inbox_newest, tix_webhooks_inbox')
  })

  /** A nested transaction that is still open when its run ends goes on while the next delivery has the connection. */
  async function outliveRun(row: (typeof NESTED)[number], how: string, end: string): Promise<void> {
    const { library } = row
    const snippet = await (how === 'given up' ? load(library) : open(library))
    if (how === 'given up') onTestFinished(async () => void (await snippet.close()))
    const prefix = `${row.name}, ${how}, ${end}: `
    const write = (tx: never, id: string) => row.library.write(tx, `${prefix}${id}`, snippet as never)
    const nested = (tx: never, work: (inner: never) => Promise<unknown>) =>
      row.library.nested[row.way]?.(tx, work, snippet as never)
    const [opened, resumed] = [deferred<void>(), deferred<void>()]
    let isFirst = true
    const first = await endpoint({
      inbox: snippet.inbox,
      ...(how === 'given up' ? { timeoutSeconds: 5, maxRunSeconds: 0.5 } : {}),
      on: {
        'order.created': async (_event, { tx }) => {
          if (!isFirst) return void (await write(tx, 'a'))
          isFirst = false
          const branch = nested(tx, async (inner) => {
            await write(inner, 'early')
            const made = [inner, tx].map((late, i) =>
              library.prepare?.(late, `${prefix}made ${i}`, snippet as never),
            )
            opened.resolve()
            await resumed.promise
            await Promise.allSettled([inner, tx].map(async (late, i) => write(late, `late ${i}`)))
            await Promise.allSettled(made.map(async (send) => send?.()))
            if (end === 'rejects') throw new Error('late')
          })
          const beside = opened.promise.then(() => {
            if (how !== 'given up') throw new Error('beside')
          })
          await Promise.all([branch, beside])
        },
      },
    })
    const second = await endpoint({
      inbox: snippet.inbox,
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
    if (row.way === 'a query runner') expect((await second.send(b)).status).toBe(503)
    expect(await second.send(b)).toEqual(HANDLED)
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

  test.each(LIBRARIES)('writes nothing of statements beside one that fails over $name', async (library) => {
    const snippet = await open(library)
    const write = (tx: never, id: string) => library.write(tx, id, snippet as never)
    const strays: Promise<unknown>[] = []
    const { send } = await endpoint({
      inbox: snippet.inbox,
      on: {
        'order.created': async (_event, { tx }) => {
          await write(tx, 'first')
          strays.push(...['first', 'second', 'third', 'fourth'].map(async (id) => write(tx, id)))
          await Promise.all(strays)
        },
      },
    })
    expect((await send(orderCreated({ id: library.name }))).status).toBe(500)
    await send(orderCreated({ id: library.name }))
    await turns(5)
    expect(await written('')).toEqual([])
  })

  // An 'error' that nothing listens for would end the process, and fails this run.
  test.each(LIBRARIES)(
    'survives backends that are terminated in a transaction over $name',
    async (library) => {
      const snippet = await open(library)
      const write = (tx: never, id: string) => library.write(tx, id, snippet as never)
      let run = 0
      const { send } = await endpoint({
        inbox: snippet.inbox,
        on: {
          'order.created': async (_event, { tx }) => {
            run++
            await write(tx, 'once')
            // In a statement, and between two.
            if (run === 1) await write(tx, TERMINATE)
            if (run === 2) {
              await database.query(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE relation = 'orders'::regclass AND mode = 'RowExclusiveLock'",
              )
              await write(tx, 'never')
            }
          },
        },
      })
      const order = orderCreated({ id: `terminated ${library.name}` })
      for (const _ of ['in a statement', 'between two']) {
        expect((await send(order)).status).toBeGreaterThanOrEqual(500)
      }
      // postgres.js may give the next transaction the connection that is about to close.
      while ((await send(order)).status !== 200);
      expect(await written('')).toEqual(['once'])
    },
  )

  test('says that it was the flush of MikroORM that failed, after the handler had returned', async () => {
    const library = LIBRARIES.find(({ name }) => name === 'MikroORM') as Library
    const { inbox } = (await open(library)) as unknown as { inbox: PostgresInbox<SqlEntityManager> }
    await database.query("INSERT INTO orders VALUES ('taken')")
    const { send, reports } = await endpoint({
      inbox,
      on: { 'order.created': (_event, { tx }) => void tx.persist(tx.create('Order', { id: 'taken' })) },
    })
    expect((await send(orderCreated())).status).toBe(503)
    expect(reports).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/the end of its transaction failed.* the flush of MikroORM/),
      }),
    ])
  })
})
