import type { Pool, PoolClient } from 'pg'
import { ddl, type PostgresInbox, postgresInbox } from 'tix-webhooks/postgres'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../../../support/on-servers.js'
import { INBOX_CLIENTS, openPg } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'
import { startProxy } from '../../../support/tcp-proxy.js'

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
const TRIPS: Readonly<Record<string, readonly [number, number]>> = { pg: [3, 2], 'postgres.js': [5, 3] }

onPostgres.each(INBOX_CLIENTS.filter(({ name }) => Object.hasOwn(TRIPS, name)))(
  'a delivery through postgresInbox over $name',
  ({ name, open }) => {
    const database = testDatabase('CREATE TABLE effects (id text)', ddl)

    test.each<[string, string | null]>([
      ['with a key', 'counted'],
      ['without one', null],
    ])('%s takes few round trips once its connection is in use', async (_, key) => {
      const { hostname, port } = new URL(database.url)
      const proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
      onTestFinished(() => proxy.close())
      const client = open(database, { port: proxy.port, max: 1 })
      const inbox = client.inbox()
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

onPostgres('BEGIN and the record in one message', () => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')
  const recorded = (): Promise<unknown[]> => database.column('SELECT key FROM tix_webhooks_inbox')

  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks_inbox'))

  async function deliver(pool: Pool, key: string, table?: string): Promise<unknown> {
    return inboxOf(pool, table).once({ key, retainMs: 60_000 }, async (tx) => {
      await tx.query('INSERT INTO effects VALUES ($1)', [key])
    })
  }

  const inboxes = new WeakMap<Pool, PostgresInbox<PoolClient>>()

  /** One for each pool, because it remembers what its connections have prepared. */
  function inboxOf(pool: Pool, table?: string): PostgresInbox<PoolClient> {
    const inbox = inboxes.get(pool) ?? postgresInbox(pool, { table })
    inboxes.set(pool, inbox)
    return inbox
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

  describe.each<[string, Record<string, string>]>([
    ['the settings of the server', {}],
    ['backslashes that escape', { standard_conforming_strings: 'off', backslash_quote: 'on' }],
    ['a client encoding whose letters can end in a backslash', { client_encoding: 'SJIS' }],
  ])('with %s', (_, settings) => {
    test('keeps a key as it is, whatever is in it', async () => {
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
  })

  test.each(['DISCARD ALL', 'DEALLOCATE ALL'])(
    'becomes two messages after %s, and rolls back what had begun',
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
  test('ends with a rollback for a duplicate', async () => {
    const pool = openPg(database, { max: 1 })
    expect(await deliver(pool, 'one')).toEqual(HANDLED)
    const texts = listenTo(pool)
    expect(await deliver(pool, 'one')).toEqual(DUPLICATE)
    expect(texts).toEqual([expect.stringMatching(/^BEGIN; EXECUTE /), 'ROLLBACK'])
  })

  test('leaves no transaction open when the record fails', async () => {
    const pool = openPg(database, { max: 1 })
    for (const key of ['prepared', 'in one']) expect(await deliver(pool, key)).toEqual(HANDLED)
    await database.query('ALTER TABLE tix_webhooks_inbox ADD CONSTRAINT refuses CHECK (key <> $$refused$$)')
    onTestFinished(
      async () => void (await database.query('ALTER TABLE tix_webhooks_inbox DROP CONSTRAINT refuses')),
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
