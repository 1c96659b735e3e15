import { connect, type Socket } from 'node:net'
import type { Pool, PoolClient } from 'pg'
import { ddl, type PostgresInbox, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, openPostgresJs } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { startProxy } from '../../../support/tcp-proxy.js'

const HOUR_MS = 3_600_000
const LEASE = { key: 'k', token: 'a' }
const CLAIM = { ...LEASE, leaseMs: HOUR_MS, retainMs: HOUR_MS }
const CLAIMED = { status: 'claimed', attempt: 1 }
const HANDLED = { status: 'handled' }
const DUPLICATE = { status: 'duplicate' }

const PRINTABLE = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')

/** Each would end a literal, or change its value, somewhere. */
const HOSTILE: readonly string[] = [
  PRINTABLE,
  "'); DROP TABLE effects; --",
  "'', 0, '', ''); COMMIT; --",
  "\\'); DROP TABLE effects; --",
  "'",
  "''",
  '\\',
  '\\\\',
  'ends in \\',
  '$$',
  '$1',
  '$tag$ $tag$',
  '%s %I %L %%',
  '" ? :name @> {} /* */ -- ;',
  "E'\\x27'",
  "U&'\\0027'",
  '\\x27',
  'orders/order.created/ord_1',
  ' ',
  '~'.repeat(255),
  "'".repeat(255),
]

/** Trips of a new delivery with one statement of the handler's, and of a duplicate. */
/** A purge in the background needs some of its own. */
const UNPURGED = { purgeEverySeconds: false } as const
const TRIPS: Readonly<Record<string, readonly [number, number]>> = { pg: [3, 2], 'postgres.js': [5, 3] }

onPostgres.each(INBOX_CLIENTS.filter(({ name }) => Object.hasOwn(TRIPS, name)))(
  'a delivery through postgresInbox over $name',
  ({ name, open }) => {
    const database = testDatabase('CREATE TABLE effects (id text)', ddl)

    test('waits for no timer, each of which takes a millisecond', async () => {
      const client = open(database, { max: 1 })
      const inbox = client.inbox()
      const deliver = (key: string) =>
        inbox.once({ key, retainMs: 60_000 }, async (tx) => void (await client.run(tx, 'SELECT 1')))
      await deliver('connects')
      const timers = vi.spyOn(globalThis, 'setTimeout')
      onTestFinished(() => timers.mockRestore())
      expect(await deliver('timed')).toEqual({ status: 'handled' })
      expect(await deliver('timed')).toEqual({ status: 'duplicate' })
      // Time limits are longer.
      expect(timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms < 1_000)).toEqual([])
    })

    test.each<[string, string | null]>([
      ['with a key', 'counted'],
      ['without one', null],
    ])('%s takes few round trips once its connection is in use', async (_, key) => {
      const { hostname, port } = new URL(database.url)
      const proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
      onTestFinished(() => proxy.close())
      const client = open(database, { port: proxy.port, max: 1 })
      const inbox = client.inbox(UNPURGED)
      await database.query('TRUNCATE tix_webhooks_events')
      async function tripsOf(given: string | null, expected: object): Promise<number> {
        const before = proxy.roundTrips
        const result = await inbox.once({ key: given, retainMs: 60_000 }, async (tx) => {
          await client.run(tx, "INSERT INTO effects VALUES ('one')")
        })
        expect(result).toEqual(expected)
        return proxy.roundTrips - before
      }
      for (const used of ['connects', 'prepares']) await tripsOf(key && used, HANDLED)
      const [fresh, again] = TRIPS[name] as readonly [number, number]
      expect(await tripsOf(key, HANDLED)).toBe(fresh)
      if (key !== null) expect(await tripsOf(key, DUPLICATE)).toBe(again)
    })
  },
)

onPostgres('the statements of pg', () => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const recorded = (): Promise<unknown[]> =>
    database.column('SELECT event_key FROM tix_webhooks_events ORDER BY event_key')

  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_events'))

  /** One for each pool, because it remembers what its connections have prepared. */
  const inboxes = new WeakMap<Pool, PostgresInbox<PoolClient>>()

  async function deliver(pool: Pool, key: string): Promise<unknown> {
    const inbox = inboxes.get(pool) ?? postgresInbox(pool, UNPURGED)
    inboxes.set(pool, inbox)
    return inbox.once({ key, retainMs: HOUR_MS }, async (tx) => {
      await tx.query('INSERT INTO effects VALUES ($1)', [key])
    })
  }

  /** The texts that pg sends from now on, without those of named statements. */
  function listenTo(pool: Pool): string[] {
    const texts: string[] = []
    const heard = new WeakSet()
    pool.on('acquire', (client) => {
      if (heard.has(client)) return
      heard.add(client)
      const query = client.query.bind(client) as (...parameters: unknown[]) => unknown
      client.query = ((statement: string | { name?: string; text: string }, ...rest: unknown[]) => {
        if (typeof statement === 'string') texts.push(statement)
        else if (statement.name === undefined) texts.push(statement.text)
        return query(statement, ...rest)
      }) as typeof client.query
    })
    return texts
  }

  /** The prepared statements on the only connection of a pool. */
  async function namesOn(pool: Pool): Promise<string[]> {
    const { rows } = await pool.query<{ name: string }>('SELECT name FROM pg_prepared_statements ORDER BY 1')
    return rows.map(({ name }) => name)
  }

  /** Every method once, on one record. */
  async function useStore(pool: Pool): Promise<void> {
    const store = postgresStore(pool)
    const released = { key: 'released', token: 'a' }
    expect(await store.claim(CLAIM)).toEqual(CLAIMED)
    expect(await store.renew(LEASE, HOUR_MS)).toBe(true)
    expect(await store.complete(LEASE, HOUR_MS)).toBe(true)
    expect(await store.claim({ ...CLAIM, ...released })).toEqual(CLAIMED)
    expect(await store.release(released)).toBe(true)
    expect(await store.purge()).toBe(0)
  }

  /** All of them, on a new connection. */
  async function ourNames(): Promise<string[]> {
    const pool = openPg(database, { max: 1 })
    await useStore(pool)
    expect(await deliver(pool, 'for the names')).toEqual(HANDLED)
    const names = await namesOn(pool)
    await deliver(pool, 'another')
    await postgresStore(pool).claim({ ...CLAIM, key: 'another' })
    expect(await namesOn(pool)).toEqual(names)
    await database.query('TRUNCATE effects, tix_webhooks_events')
    return names
  }

  test('are parsed once for each connection, by names that tell ours from others, the same in every process', async () => {
    const names = await ourNames()
    // Five of the store, one of the inbox, and that which finds their table.
    expect(names).toHaveLength(7)
    for (const name of names) expect(name).toMatch(/^tix_webhooks_[0-9a-f]{16}$/)
    // So that PgBouncer can share them.
    expect(await ourNames()).toEqual(names)
  })

  /** Commands that invalidate the statements of a connection; pg does not notice, and continues to use them. */
  const LOSSES: [string, (pool: Pool, names: readonly string[]) => Promise<unknown>][] = [
    ['DISCARD ALL', (pool) => pool.query('DISCARD ALL')],
    ['DEALLOCATE ALL', (pool) => pool.query('DEALLOCATE ALL')],
  ]

  /** Commands that use the names first, on a connection that has not prepared them. */
  const CLASHES: typeof LOSSES = [
    [
      'those names on the server',
      async (pool, names) => {
        for (const name of names) await pool.query(`PREPARE ${name} AS SELECT 1`)
      },
    ],
    [
      'those names in pg',
      async (pool, names) => {
        for (const name of names) await pool.query({ name, text: 'SELECT 1' })
      },
    ],
  ]

  test.each(LOSSES)('are sent as text after %s, and every method answers as ever', async (_, lose) => {
    const pool = openPg(database, { max: 1 })
    const store = postgresStore(pool)
    for (const key of ['one', 'other']) expect(await store.claim({ ...CLAIM, key })).toEqual(CLAIMED)
    await store.complete({ ...LEASE, key: 'one' }, HOUR_MS)
    await lose(pool, [])
    expect(await store.claim(CLAIM)).toEqual(CLAIMED)
    expect(await store.complete(LEASE, HOUR_MS)).toBe(true)
    expect(await store.claim(CLAIM)).toEqual({ status: 'completed' })
    expect(await store.complete({ ...LEASE, key: 'other' }, HOUR_MS)).toBe(true)
    // No more are prepared, because they could be lost again: behind PgBouncer with every transaction.
    expect(await namesOn(pool)).toEqual([])
  })

  test.each(CLASHES)('are sent as text where something else has %s', async (_, take) => {
    const pool = openPg(database, { max: 1 })
    const names = await ourNames()
    await take(pool, names)
    await useStore(pool)
    const other = openPg(database, { max: 1 })
    await take(other, names)
    expect(await deliver(other, 'mine')).toEqual(HANDLED)
    expect(await deliver(other, 'mine')).toEqual(DUPLICATE)
    expect(await effects()).toEqual(['mine'])
  })

  test.each<[string, Record<string, string>]>([
    ['the settings of the server', {}],
    ['backslashes that escape', { standard_conforming_strings: 'off', backslash_quote: 'on' }],
    ['a client encoding whose letters can end in a backslash', { client_encoding: 'SJIS' }],
  ])('keep a key as it is, whatever is in it, with BEGIN in one message: %s', async (_, settings) => {
    const pool = openPg(database, { max: 1, settings })
    const texts = listenTo(pool)
    expect(await deliver(pool, 'warm')).toEqual(HANDLED)
    for (const key of HOSTILE) expect(await deliver(pool, key), key).toEqual(HANDLED)
    for (const key of HOSTILE) expect(await deliver(pool, key), key).toEqual(DUPLICATE)
    const all = ['warm', ...HOSTILE].sort()
    expect((await recorded()).sort()).toEqual(all)
    expect((await effects()).sort()).toEqual(all)
    expect(texts.filter((text) => text.startsWith('BEGIN; EXECUTE'))).toHaveLength(2 * HOSTILE.length)
  })

  test.each(['DISCARD ALL', 'DEALLOCATE ALL'])(
    'become two messages after %s, and roll back what had begun',
    async (lose) => {
      const pool = openPg(database, { max: 1 })
      for (const key of ['prepared', 'in one']) expect(await deliver(pool, key)).toEqual(HANDLED)
      await pool.query(lose)
      const texts = listenTo(pool)
      for (const key of ['lost', 'after']) expect(await deliver(pool, key)).toEqual(HANDLED)
      expect(texts.filter((text) => text.startsWith('BEGIN; EXECUTE'))).toHaveLength(1)
      expect(await effects()).toEqual(['after', 'in one', 'lost', 'prepared'])
      expect((await recorded()).sort()).toEqual(['after', 'in one', 'lost', 'prepared'])
    },
  )

  // It has locked the record, so its COMMIT would wait for the disk.
  test('end with a rollback for a duplicate', async () => {
    const pool = openPg(database, { max: 1 })
    expect(await deliver(pool, 'one')).toEqual(HANDLED)
    const texts = listenTo(pool)
    expect(await deliver(pool, 'one')).toEqual(DUPLICATE)
    expect(texts).toEqual([expect.stringMatching(/^BEGIN; EXECUTE /), 'ROLLBACK'])
  })

  test('leave no transaction open when the record fails', async () => {
    const pool = openPg(database, { max: 1 })
    for (const key of ['prepared', 'in one']) expect(await deliver(pool, key)).toEqual(HANDLED)
    await database.query(
      'ALTER TABLE tix_webhooks_events ADD CONSTRAINT refuses CHECK (event_key <> $$refused$$)',
    )
    onTestFinished(
      async () => void (await database.query('ALTER TABLE tix_webhooks_events DROP CONSTRAINT refuses')),
    )
    await expect(deliver(pool, 'refused')).rejects.toMatchObject({ code: 'store_unavailable' })
    const { rows } = await pool.query(
      'SELECT txid_current_if_assigned() AS id, now() = statement_timestamp() AS alone',
    )
    expect(rows).toEqual([{ id: null, alone: true }])
    expect(await deliver(pool, 'next')).toEqual(HANDLED)
    expect(await effects()).toEqual(['in one', 'next', 'prepared'])
  })
})

/** Opened before the channel of `nextPoll`: of two that have messages at one poll, this one is called first. */
const earlier = new MessageChannel()

// postgres.js learns of a lost connection when its socket closes, a moment after Node reads the loss. A statement that it gets in between
// can keep the connection after it from ever getting ready, and one that it gets at the close ends the process.
onPostgres('a connection of postgres.js that is lost as the handler returns', () => {
  const database = testDatabase(ddl)

  const MOMENTS: [string, (socket: Socket, lose: () => void) => Promise<void>][] = [
    [
      'just before its socket closes',
      (_, lose) =>
        new Promise((resolve) =>
          setImmediate(() => {
            lose()
            resolve()
          }),
        ),
    ],
    [
      'as its socket closes',
      (socket, lose) =>
        new Promise((resolve) => {
          socket.prependOnceListener('close', () => resolve())
          lose()
        }),
    ],
    [
      'just before its transaction is checked',
      async (_, lose) => {
        earlier.port1.onmessage = lose
        earlier.port2.postMessage(0)
      },
    ],
    [
      'just before COMMIT',
      async (_, lose) => {
        earlier.port1.onmessage = () => {
          earlier.port1.onmessage = lose
          setImmediate(() => earlier.port2.postMessage(0))
        }
        earlier.port2.postMessage(0)
      },
    ],
  ]

  test.each(MOMENTS)('%s: the delivery fails, and the next gets a connection', async (moment, returning) => {
    onTestFinished(() => {
      earlier.port1.onmessage = null
    })
    let socket: Socket | undefined
    const { hostname: host, port } = new URL(database.url)
    const open = { socket: () => (socket = connect({ host, port: Number(port || 5432) })) }
    const inbox = postgresInbox(openPostgresJs(database, { max: 1 }, open as object))
    const request = { key: moment, retainMs: 60_000 }
    const delivery = inbox.once(request, async () => {
      const lost = socket as Socket
      // As Node does when it reads a reset.
      await returning(lost, () => lost.destroy(new Error('read ECONNRESET')))
    })
    await expect(delivery).rejects.toMatchObject({ code: 'store_unavailable' })
    // The server may not have seen yet that the connection is gone.
    let next = await inbox.once(request, async () => {})
    while (next.status === 'in_flight') next = await inbox.once(request, async () => {})
    expect(next).toEqual({ status: 'handled' })
  })
})
