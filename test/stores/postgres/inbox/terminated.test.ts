import { inspect } from 'node:util'
import { Pool } from 'pg'
import type { TransactionSql } from 'postgres'
import { ddl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { onPostgres } from '../../../support/on-servers.js'
import {
  type ClientOptions,
  INBOX_CLIENTS,
  type InboxClient,
  type OpenClient,
  openPostgresJs,
} from '../../../support/postgres-clients.js'
import { type TestDatabase, testDatabase } from '../../../support/postgres-database.js'
import { endpoint } from '../../../support/postgres-endpoint.js'
import { deferred } from '../../../support/promises.js'
import { startProxy, type TcpProxy } from '../../../support/tcp-proxy.js'

const MAX = 2

/** The transaction of a purge would be ended instead. */
const UNPURGED = { purgeEverySeconds: false } as const

/** The message of Postgres to a connection whose transaction took too long. */
const FATAL = errorResponse({
  S: 'FATAL',
  V: 'FATAL',
  C: '25P04',
  M: 'terminating connection due to transaction timeout',
})

/** A statement that ends its session. */
const ENDING = "SELECT pg_terminate_backend(pg_backend_pid(), 60000), 'the name of a buyer'"

/** Of the user's, over postgres.js: its errors come through a library. */
const ownDriver = {
  name: 'a driver of the user',
  open(database: TestDatabase, options: ClientOptions) {
    const sql = openPostgresJs(database, options)
    const run = async (tx: TransactionSql, text: string, given: readonly unknown[] = []) =>
      tx.unsafe(text, given as never[])
    const driver = { transaction: (work: never) => sql.begin(work) as Promise<never>, query: run }
    return { inbox: () => postgresInbox(driver, UNPURGED), run }
  },
} as unknown as InboxClient

/** Whether a chunk from the server ends with ReadyForQuery, the end of an answer. */
function isReady(chunk: Buffer): boolean {
  return chunk.subarray(-6, -1).equals(Buffer.from([0x5a, 0, 0, 0, 5]))
}

/** An error of the server, as it is sent. */
function errorResponse(fields: Readonly<Record<string, string>>): Buffer {
  const text = Object.entries(fields).map(([name, value]) => `${name}${value}\0`)
  const body = Buffer.from(`${text.join('')}\0`)
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from('E'), length, body])
}

// A client emits 'error' while it reads the chunk, before any promise settles. Where nobody listens, that ends a process, and
// fails the run of these tests as a whole.
onPostgres('a server that ends in the very chunk of an answer', () => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  let proxy: TcpProxy

  beforeAll(async () => {
    const { hostname, port } = new URL(database.url)
    proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
  })
  afterAll(() => proxy?.close())
  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_events'))

  const saying = (words: string) => (chunk: Buffer) => chunk.includes(words)
  const POINTS: [string, (chunk: Buffer) => boolean][] = [
    ['connecting', () => true],
    ['BEGIN', (chunk) => /begin/i.test(chunk.toString('latin1'))],
    ['the record of the event', saying('order.created/order')],
    ['a statement of the handler', saying('INSERT INTO effects')],
    ['COMMIT', (chunk) => /commit/i.test(chunk.toString('latin1'))],
  ]

  // A statement given to postgres.js just as a connection ends stays in its buffer, and the next connection never gets ready.
  // The next delivery can meet that after a COMMIT.
  const pointsOf = (name: string) => POINTS.filter(([point]) => name !== 'postgres.js' || point !== 'COMMIT')

  describe.each(INBOX_CLIENTS)('under an inbox over $name', (library) => {
    test.each(pointsOf(library.name))(
      'after %s loses neither the process nor the event nor a connection',
      async (_, match) => {
        const client = library.open(database, { port: proxy.port, max: MAX })
        let hasBegun = false
        const { send, records } = await endpoint({
          inbox: client.inbox(UNPURGED),
          on: {
            'order.created': async (event, { tx }) => {
              hasBegun = true
              await client.run(tx, `INSERT INTO effects VALUES ('${event.data.order.id}')`)
            },
          },
        })
        // More often than there are connections: each that is lost for good would be missed.
        for (let time = 0; time <= MAX; time++) {
          const order = orderCreated({ id: `order ${time}` })
          const glued = proxy.glueAfterRequest(match, isReady, FATAL)
          hasBegun = false
          let answer = await send(order)
          await glued
          // The code with which the failure of a handler that is too slow is kept.
          if (!hasBegun) expect(records.at(-1)?.code).not.toBe('rolled_back')
          while (answer.status !== 200) answer = await send(order)
        }
        expect(await database.column('SELECT id FROM effects ORDER BY id')).toEqual([
          'order 0',
          'order 1',
          'order 2',
        ])
      },
    )
  })

  test.each([...INBOX_CLIENTS, ownDriver])(
    'in a statement of one delivery is not reported, kept or refused as that of the next on the connection, over $name',
    async (library) => {
      const client = library.open(database, { max: 1 })
      const inbox = client.inbox(UNPURGED)
      const { send, reports } = await endpoint({
        inbox,
        on: {
          'order.created': (event, { tx }) =>
            event.data.order.id === 'ended' ? client.run(tx, ENDING) : client.run(tx, 'SELECT 1'),
        },
      })
      for (let time = 0; time < 3; time++) {
        await send(orderCreated({ id: 'ended' }))
        expect(await send(orderCreated({ id: `other ${time}` }))).toMatchObject({ outcome: 'handled' })
        // That of the one that was ended.
        expect(reports).toHaveLength(time + 1)
      }
      expect((await inbox.ledger.list()).map(({ key }) => key)).toEqual(['test/order.created/ended'])
    },
  )

  type Way = (client: OpenClient, tx: TransactionSql, later: Promise<void>) => unknown
  const ending = (tx: TransactionSql) => tx.unsafe(ENDING)
  const WAYS: readonly (readonly [string, Way])[] = [
    ['a savepoint', (client, tx) => client.savepoint(tx, (inner) => client.run(inner, ENDING))],
    [
      'a savepoint after a statement whose error it catches',
      (client, tx) => client.run(tx, ENDING).catch(() => client.savepoint(tx, async () => {})),
    ],
    [
      'one statement after the other, whose errors it catches',
      async (client, tx) => {
        for (let left = 3; left > 0; left--) await client.run(tx, ENDING).catch(() => {})
        await client.run(tx, ENDING)
      },
    ],
  ]
  const OF_POSTGRES_JS: readonly (readonly [string, Way])[] = [
    ['a savepoint in a savepoint', (_, tx) => tx.savepoint((inner) => inner.savepoint(ending))],
    [
      'a query that was made before, and is sent later',
      async (_, tx) => {
        const later = tx`SELECT 1`
        await ending(tx).then(undefined, () => {})
        await later
      },
    ],
  ]

  test.each([
    ...INBOX_CLIENTS.flatMap((client) =>
      WAYS.map(([name, way]) => [client.name, name, client, way] as const),
    ),
    ...OF_POSTGRES_JS.map(
      ([name, way]) => ['postgres.js', name, INBOX_CLIENTS[1] as InboxClient, way] as const,
    ),
  ])('over %s leaves no handler pending in %s', async (_, __, library, way) => {
    const client = library.open(database, { max: 1 })
    const later = deferred()
    const { send } = await endpoint({
      inbox: client.inbox(UNPURGED),
      on: {
        'order.created': (event, { tx }) =>
          event.data.order.id === 'ended'
            ? way(client, tx as TransactionSql, later.promise)
            : client.run(tx, 'SELECT 1'),
      },
    })
    expect((await send(orderCreated({ id: 'ended' }))).outcome).toMatch(/^(failed|unavailable)$/)
    expect((await send(orderCreated({ id: 'other' }))).outcome).toBe('handled')
    later.resolve()
    expect((await send(orderCreated({ id: 'another' }))).outcome).toBe('handled')
  })

  test('in a statement of the app does not fail the next call of a store over postgres.js, nor show in one that is lost with it', async () => {
    const sql = openPostgresJs(database, { max: 1 })
    const store = postgresStore(sql, UNPURGED)
    const claim = (key: string) => store.claim({ key, token: 't', leaseMs: 1_000, retainMs: 1_000 })
    const end = () => sql.unsafe(ENDING).then(undefined, () => {})
    await claim('first')
    await end()
    expect(await claim('second')).toMatchObject({ status: 'claimed' })
    const [, lost] = await Promise.allSettled([end(), claim('third')])
    expect(inspect(lost, { showHidden: true, depth: 9 })).not.toContain('buyer')
  })

  test.each(INBOX_CLIENTS)(
    'that hangs up instead of answering BEGIN to $name costs no place in the pool',
    async (library) => {
      const client = library.open(database, { port: proxy.port, max: MAX })
      const { send } = await endpoint({
        inbox: client.inbox(UNPURGED),
        on: { 'order.created': (_, { tx }) => client.run(tx, 'SELECT 1') },
      })
      for (let time = 0; time <= MAX; time++) {
        const order = orderCreated({ id: `order ${time}` })
        const hungUp = proxy.cutAfterRequest((chunk) => /begin/i.test(chunk.toString('latin1')))
        expect((await send(order)).status).toBe(503)
        await hungUp
        // The server may not have noticed yet: it has the lock of the event until then.
        let again = await send(order)
        while (again.outcome === 'in_flight') again = await send(order)
        expect(again.status).toBe(200)
      }
    },
  )

  test.each([
    ['a store', (pool: Pool) => postgresStore(pool).claim({ key: 'k', token: 't', leaseMs: 1, retainMs: 1 })],
    ['an inbox', (pool: Pool) => postgresInbox(pool).once({ key: null, retainMs: 1 }, async () => {})],
  ])('does not end the process of %s whose pool nobody listens to', async (_, use) => {
    const pool = new Pool({ connectionString: database.url, options: database.settings(), max: 1 })
    onTestFinished(() => pool.end())
    await use(pool)
    const { rows } = await pool.query('SELECT pg_backend_pid() AS pid')
    const removed = new Promise((resolve) => pool.once('remove', resolve))
    await database.query('SELECT pg_terminate_backend($1, 60000)', [rows[0].pid])
    await removed
    await use(pool)
  })
})
