import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Kysely, PostgresDialect } from 'kysely'
import { Pool, type PoolClient } from 'pg'
import { createReceiver } from 'tix-webhooks'
import { ddl, fromKysely, postgresInbox } from 'tix-webhooks/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { atOnce } from '../../../support/at-once.js'
import { BAD_AS } from '../../../support/bad-as.js'
import { orderCreated, SECRET, sign } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import { openPg, openPostgresJs } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { deferred } from '../../../support/promises.js'
import { ROOT } from '../../../support/root.js'

onPostgres('two tables of one name, in schemas of their own', () => {
  const databases = [testDatabase(), testDatabase()]

  test('do not take the events of the other for ones in flight', async () => {
    const [first, second] = await Promise.all(
      databases.map(async (database) => {
        const inbox = postgresInbox(openPg(database))
        await inbox.migrate()
        return inbox
      }),
    )
    const request = { key: 'same', retainMs: 9e9 }
    let inside: unknown[] = []
    const outside = await first?.once(request, async () => {
      inside = [await first.once(request, async () => {}), await second?.once(request, async () => {})]
    })
    const statuses = ['handled', 'in_flight', 'handled']
    expect([outside, ...inside]).toEqual(statuses.map((status) => ({ status })))
  })
})

onPostgres('the connection of an inbox over pg', () => {
  const database = testDatabase('CREATE TABLE effects (id text)')

  test.each(['release', 'end'])('is not given away by a handler that calls ctx.tx.%s()', async (method) => {
    const pool = openPg(database, { max: 1 })
    const inbox = postgresInbox(pool, { purgeEverySeconds: false })
    await inbox.migrate()
    let isReleasing = true
    const { send, reports } = await endpoint({
      inbox,
      on: {
        'order.created': async (event, { tx }) => {
          await tx.query('INSERT INTO effects VALUES ($1)', [event.data.order.id])
          if (isReleasing) await (tx as unknown as Record<string, () => unknown>)[method]?.()
        },
      },
    })
    const order = orderCreated({ id: `once-${method}` })
    expect((await send(order)).status).toBe(500)
    expect(reports.at(-1)?.message).toMatch(
      /^ctx\.tx is the connection of the inbox, which releases it itself/,
    )
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1])
    isReleasing = false
    expect((await send(order)).status).toBe(200)
    expect(await database.column(`SELECT id FROM effects WHERE id LIKE '%${method}'`)).toHaveLength(1)
  })

  test.each(BAD_AS)('an as that %s is said to be at fault, and not the database', async (_, as, error) => {
    const inbox = postgresInbox(openPg(database, { max: 1 }), { as: as as never })
    for (let i = 0; i < 2; i++) {
      await expect(inbox.once({ key: 'as', retainMs: 9e9 }, async () => {})).rejects.toMatchObject(error)
    }
  })

  test('may come from a pool whose connect is wrapped by an async function', async () => {
    class LoggedPool extends Pool {
      override connect(): Promise<PoolClient>
      override connect(callback: never): void
      override async connect(...args: unknown[]): Promise<PoolClient> {
        return Reflect.apply(super.connect, this, args) as Promise<PoolClient>
      }
    }
    const options = { connectionString: database.url, options: database.settings(), max: 1 }
    const pool = new LoggedPool(options)
    onTestFinished(() => pool.end())
    const inbox = postgresInbox(pool, { purgeEverySeconds: false })
    await inbox.migrate()
    expect(await inbox.once({ key: 'wrapped', retainMs: 9e9 }, async () => {})).toEqual({ status: 'handled' })
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1])
  })
})

const HANDLED = { status: 200, outcome: 'handled' }

onPostgres('the runs of an inbox', () => {
  const database = testDatabase(ddl)

  const rows = [
    { name: 'pg', max: 3, runs: 2 },
    { name: 'postgres.js', max: 3, runs: 2 },
    { name: 'postgres.js with one connection', max: 1, runs: 1 },
    { name: 'pg with concurrency', max: 3, concurrency: 1, runs: 3 },
  ]

  test('leave a connection of the pool to the app, together with those of other receivers and inboxes on it', () =>
    atOnce(rows, async ({ name, max, concurrency, runs }) => {
      const options = { max, settings: { application_name: `${database.schema} ${name}` } }
      const pool = name.startsWith('pg') ? openPg(database, options) : openPostgresJs(database, options)
      const ask = () => ('unsafe' in pool ? pool.unsafe('SELECT 1') : pool.query('SELECT 1'))
      const [gate, full, allAsked] = [deferred(), deferred(), deferred()]
      let [started, asked] = [0, 0]
      const shared = postgresInbox(pool as ReturnType<typeof openPg>)
      const endpoints = await Promise.all(
        [shared, shared, postgresInbox(pool as ReturnType<typeof openPg>)].map((inbox) =>
          endpoint({
            inbox,
            concurrency,
            // The last step before a place is taken.
            key: (event) => {
              asked += 1
              if (asked === 6) allAsked.resolve()
              return `${name} ${(event.data as { order: { id: string } }).order.id}`
            },
            on: {
              'order.created': async () => {
                started += 1
                if (started === runs) full.resolve()
                await gate.promise
              },
            },
          }),
        ),
      )
      const sent = [0, 1].flatMap((i) =>
        endpoints.map(({ send }, receiver) => send(orderCreated({ id: `${receiver} ${i}` }))),
      )
      await Promise.all([full.promise, allAsked.promise])
      if (runs < max) await ask()
      const inTransactions = await database.column(
        "SELECT count(*)::int FROM pg_stat_activity WHERE application_name = $1 AND state = 'idle in transaction'",
        [options.settings.application_name],
      )
      expect([inTransactions, started]).toEqual([[runs], runs])
      gate.resolve()
      expect(await Promise.all(sent)).toEqual(sent.map(() => HANDLED))
      expect(started).toBe(6)
    }))

  test('an account whose orders all hang has half of a pool: that of another is handled', async () => {
    const [gate, half] = [deferred(), deferred()]
    let hung = 0
    const { receive } = createReceiver({
      inbox: postgresInbox(openPg(database, { max: 20 })),
      namespace: 'accounts',
      account: (id: string) => ({ id, secret: SECRET }),
      onDelivery: () => {},
      on: {
        'order.created': async (_, { account }) => {
          if (account.id === 'quiet') return
          hung += 1
          if (hung === 10) half.resolve()
          await gate.promise
        },
      },
    })
    const send = async (request: string) => receive({ ...(await sign(orderCreated())), request })
    const hanging = Array.from({ length: 19 }, () => send('hung'))
    await half.promise
    expect(await send('quiet')).toEqual({ outcome: 'handled' })
    expect(hung).toBe(10)
    gate.resolve()
    await Promise.all(hanging)
  })
})

onPostgres('a driver over pg', () => {
  const database = testDatabase('CREATE TABLE effects (id text)')

  test('that tries a failed transaction again runs the handler once in a delivery', async () => {
    const db = new Kysely<Record<never, never>>({ dialect: new PostgresDialect({ pool: openPg(database) }) })
    const driver = fromKysely(db)
    const inbox = postgresInbox({
      ...driver,
      transaction: (work) => driver.transaction(work).catch(() => driver.transaction(work)),
    })
    await inbox.migrate()
    let runs = 0
    const { send, reports } = await endpoint({
      inbox,
      on: {
        'order.created': () => {
          runs++
          throw new Error('no seat')
        },
      },
    })
    expect((await send(orderCreated())).status).toBe(500)
    expect([runs, reports.map(({ message }) => message)]).toEqual([1, ['no seat']])
  })

  // Prisma cannot read one. 2278 is its number in Postgres.
  test('gets no column of the type void', async () => {
    const types = new Set<number>()
    const pool = openPg(database)
    const inbox = postgresInbox<PoolClient>({
      async transaction(work) {
        const client = await pool.connect()
        try {
          await client.query('BEGIN')
          const result = await work(client)
          await client.query('COMMIT')
          return result
        } finally {
          client.release()
        }
      },
      async query(client, text, parameters) {
        const { rows, fields } = await client.query(text, [...parameters])
        for (const { dataTypeID } of fields) types.add(dataTypeID)
        return rows
      },
    })
    await inbox.migrate()
    const { send } = await endpoint({
      inbox,
      on: {
        'order.created': async (_event, { tx }) =>
          void (await inbox.recordIfNewest(tx, { subject: 'show', at: '2026-05-17T14:02:11Z' })),
      },
    })
    expect(await send(orderCreated())).toEqual(HANDLED)
    await inbox.purge()
    expect(types.size).toBeGreaterThan(1)
    expect(types).not.toContain(2278)
  })
})

const require = createRequire(import.meta.url)

// 8.0.2 and older wait for ever for a connection on Node 14 and newer.
onPostgres('the oldest pg that package.json allows', () => {
  const database = testDatabase('CREATE TABLE effects (id text)')

  test('has an effect exactly once', async () => {
    const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(peerDependencies.pg).toBe(`^${require('pg803/package.json').version}`)
    const old = require('pg803') as { Pool: typeof Pool }
    const pool: Pool = new old.Pool({ connectionString: database.url })
    onTestFinished(() => pool.end())
    // It does not read the options of a connection yet.
    pool.on('connect', (client) => client.query(`SET search_path = ${database.schema}`))
    const inbox = postgresInbox(pool)
    await inbox.migrate()
    const { send } = await endpoint({
      inbox,
      on: { 'order.created': (_event, { tx }) => tx.query("INSERT INTO effects VALUES ('once')") },
    })
    const order = orderCreated()
    expect(await send(order)).toEqual(HANDLED)
    expect((await send(order)).outcome).toBe('duplicate')
    expect(await database.column('SELECT id FROM effects')).toEqual(['once'])
  })
})
