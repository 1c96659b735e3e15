import type { Pool } from 'pg'
import { ddl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../../../support/on-servers.js'
import { openPg } from '../../../support/postgres-clients.js'
import { testDatabase } from '../../../support/postgres-database.js'

const HOUR_MS = 3_600_000
const LEASE = { key: 'k', token: 'a' }
const CLAIM = { ...LEASE, leaseMs: HOUR_MS, retainMs: HOUR_MS }
const ONCE = { key: 'k', retainMs: HOUR_MS }

onPostgres('the prepared statements of pg', () => {
  const database = testDatabase('CREATE TABLE effects (id text)', ddl)
  const effects = (): Promise<unknown[]> => database.column('SELECT id FROM effects ORDER BY id')

  beforeEach(() => database.query('TRUNCATE effects, tix_webhooks, tix_webhooks_inbox'))

  /** The prepared statements on the only connection of a pool. */
  async function namesOn(pool: Pool): Promise<string[]> {
    const { rows } = await pool.query<{ name: string }>('SELECT name FROM pg_prepared_statements ORDER BY 1')
    return rows.map(({ name }) => name)
  }

  /** Every method once, on one record. */
  async function useStore(pool: Pool): Promise<unknown[]> {
    const store = postgresStore(pool)
    const release = { key: 'released', token: 'a' }
    return [
      await store.claim(CLAIM),
      await store.renew(LEASE, HOUR_MS),
      await store.complete(LEASE, HOUR_MS),
      await store.claim({ ...CLAIM, ...release }),
      await store.release(release),
      await store.purge(),
    ]
  }
  const CLAIMED = { status: 'claimed', attempt: 1 }
  const ANSWERS = [CLAIMED, true, true, CLAIMED, true, 0]

  async function useInbox(pool: Pool, key = 'k'): Promise<unknown> {
    return postgresInbox(pool).once({ ...ONCE, key }, async (tx) => {
      await tx.query('INSERT INTO effects VALUES ($1)', [key])
    })
  }

  test('are parsed once for each connection, by names that tell ours from others', async () => {
    const pool = openPg(database, { max: 1 })
    expect(await useStore(pool)).toEqual(ANSWERS)
    expect(await useInbox(pool)).toEqual({ status: 'handled' })
    const names = await namesOn(pool)
    // Five of the store, one of the inbox, and that which finds their tables.
    expect(names).toHaveLength(7)
    for (const name of names) expect(name).toMatch(/^tix_webhooks_[0-9a-f]{16}$/)
    await useInbox(pool, 'another')
    await postgresStore(pool).claim({ ...CLAIM, key: 'another' })
    expect(await namesOn(pool)).toEqual(names)
  })

  test('have the same names in every process, so that PgBouncer can share them', async () => {
    const pools = [openPg(database, { max: 1 }), openPg(database, { max: 1 })]
    const names = []
    for (const pool of pools) {
      await useStore(pool)
      await database.query('TRUNCATE tix_webhooks')
      names.push(await namesOn(pool))
    }
    expect(names[0]).toEqual(names[1])
  })

  /** Commands that invalidate the statements of a connection; pg does not notice, and continues to use them. */
  const LOSSES: [string, (pool: Pool, names: readonly string[]) => Promise<unknown>][] = [
    ['DISCARD ALL', (pool) => pool.query('DISCARD ALL')],
    ['DEALLOCATE ALL', (pool) => pool.query('DEALLOCATE ALL')],
    [
      'a change of the columns',
      async () => {
        await database.query('ALTER TABLE tix_webhooks ALTER attempt TYPE bigint')
        onTestFinished(
          async () => void (await database.query('ALTER TABLE tix_webhooks ALTER attempt TYPE integer')),
        )
      },
    ],
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

  async function ourNames(): Promise<string[]> {
    const pool = openPg(database, { max: 1 })
    await useStore(pool)
    await useInbox(pool, 'for the names')
    const names = await namesOn(pool)
    await database.query('TRUNCATE effects, tix_webhooks, tix_webhooks_inbox')
    return names
  }

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
    await take(pool, await ourNames())
    expect(await useStore(pool)).toEqual(ANSWERS)
  })

  test.each(CLASHES)('of an inbox too where something else has %s', async (_, take) => {
    const pool = openPg(database, { max: 1 })
    await take(pool, await ourNames())
    expect(await useInbox(pool)).toEqual({ status: 'handled' })
    expect(await useInbox(pool)).toEqual({ status: 'duplicate' })
    expect(await effects()).toEqual(['k'])
  })

  test.each(LOSSES.slice(0, 2))(
    'of an inbox are sent as text after %s, in a transaction that begins again',
    async (_, lose) => {
      const pool = openPg(database, { max: 1 })
      const inbox = postgresInbox(pool)
      const write = async (tx: { query(text: string): Promise<unknown> }): Promise<void> => {
        await tx.query("INSERT INTO effects VALUES ('once')")
      }
      expect(await inbox.once({ ...ONCE, key: 'before' }, async () => {})).toEqual({ status: 'handled' })
      await lose(pool, [])
      expect(await inbox.once(ONCE, write)).toEqual({ status: 'handled' })
      expect(await inbox.once(ONCE, write)).toEqual({ status: 'duplicate' })
      expect(await inbox.once({ ...ONCE, key: null }, write)).toEqual({ status: 'handled' })
      expect(await effects()).toEqual(['once', 'once'])
    },
  )
})
