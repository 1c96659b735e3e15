import { ddl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { onPostgres } from '../../support/on-servers.js'
import { openPg, STORE_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { deferred } from '../../support/promises.js'

const HOUR_MS = 3_600_000
const claimOf = (key: string, token = 'new') => ({ key, token, leaseMs: HOUR_MS, retainMs: 2 * HOUR_MS })

onPostgres('purge of a Postgres store', () => {
  const database = testDatabase(ddl)
  const keys = (): Promise<unknown[]> =>
    database.column('SELECT key FROM tix_webhooks ORDER BY expires_at, key')

  beforeEach(() => database.query('TRUNCATE tix_webhooks, tix_webhooks_inbox'))

  /** Records of every state that are past their retention for as many hours as their number. */
  const insertExpired = (from: number, to: number) =>
    database.query(
      `INSERT INTO tix_webhooks SELECT 'old ' || n, (ARRAY['running', 'completed', 'released'])[n % 3 + 1], 1, 't',
        now() + interval '1 h', now() - n * interval '1 h', now() - n * interval '1 h' FROM generate_series($1::int, $2::int) AS n`,
      [from, to],
    )

  describe.each(STORE_CLIENTS)('over $name', ({ open }) => {
    test('deletes what is past its retention, the oldest first and no more than asked for', async () => {
      const store = open(database).store()
      await insertExpired(1, 5)
      await store.claim(claimOf('kept'))
      expect(await store.purge({ limit: 2 })).toBe(2)
      expect(await keys()).toEqual(['old 3', 'old 2', 'old 1', 'kept'])
      expect([await store.purge({ limit: 10 }), await store.purge()]).toEqual([3, 0])
      expect(await keys()).toEqual(['kept'])
    })

    test('deletes 1,000 at a time by default', async () => {
      const store = open(database).store()
      await insertExpired(1, 1_001)
      expect([await store.purge(), await store.purge()]).toEqual([1_000, 1])
    })

    test('leaves alone what is being claimed, and does not wait for it', async () => {
      // One connection, so that what is sent after BEGIN is in that transaction.
      const pool = openPg(database, { max: 1 })
      await insertExpired(1, 2)
      await pool.query('BEGIN')
      expect(await postgresStore(pool).claim(claimOf('old 1'))).toEqual({ status: 'claimed', attempt: 1 })
      const store = open(database).store()
      expect([await store.purge(), await store.purge()]).toEqual([1, 0])
      await pool.query('COMMIT')
      expect(await store.purge()).toBe(0)
      expect(await store.complete({ key: 'old 1', token: 'new' }, HOUR_MS)).toBe(true)
    })
  })

  test('of an inbox leaves alone what is being handled, and does not wait for it', async () => {
    const inbox = postgresInbox(openPg(database))
    await database.query(
      "INSERT INTO tix_webhooks_inbox SELECT k, now(), now() - interval '1 h' FROM unnest(ARRAY['a', 'b']) AS k",
    )
    const entered = deferred()
    const leave = deferred()
    const handling = inbox.once({ key: 'a', retainMs: HOUR_MS }, () => {
      entered.resolve()
      return leave.promise
    })
    await entered.promise
    expect([await inbox.purge(), await inbox.purge()]).toEqual([1, 0])
    leave.resolve()
    expect(await handling).toEqual({ status: 'handled' })
    expect(await inbox.once({ key: 'a', retainMs: HOUR_MS }, async () => {})).toEqual({ status: 'duplicate' })
  })

  describe('in the background', () => {
    const fakeTimeouts = (): void => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      onTestFinished(() => void vi.useRealTimers())
    }

    async function left(count: number): Promise<void> {
      // Between two batches it lets others have a turn.
      while ((await keys()).length !== count) await vi.advanceTimersByTimeAsync(1)
    }

    test.each(STORE_CLIENTS)(
      'begins with the first claim, goes on for ever, and takes all there is: over $name',
      async ({ open }) => {
        const client = open(database)
        // It connects by the real timers.
        await client.store().release({ key: 'none', token: 't' })
        fakeTimeouts()
        const store = client.store({ purgeEverySeconds: 60 })
        await store.release({ key: 'none', token: 't' })
        await insertExpired(1, 2_500)
        await vi.advanceTimersByTimeAsync(600_000)
        expect(await keys()).toHaveLength(2_500)
        await store.claim(claimOf('kept'))
        await vi.advanceTimersByTimeAsync(59_000)
        expect(await keys()).toHaveLength(2_501)
        await vi.advanceTimersByTimeAsync(1_000)
        await left(1)
        await insertExpired(1, 10)
        do await vi.advanceTimersByTimeAsync(60_000)
        while ((await keys()).length !== 1)
      },
    )

    test('of an inbox begins with the first delivery', async () => {
      fakeTimeouts()
      const inbox = postgresInbox(openPg(database), { purgeEverySeconds: 60 })
      await database.query("INSERT INTO tix_webhooks_inbox VALUES ('old', now(), now() - interval '1 h')")
      await vi.advanceTimersByTimeAsync(600_000)
      expect(await database.column('SELECT key FROM tix_webhooks_inbox')).toEqual(['old'])
      await inbox.once({ key: 'new', retainMs: HOUR_MS }, async () => {})
      await vi.advanceTimersByTimeAsync(60_000)
      while ((await database.column('SELECT key FROM tix_webhooks_inbox')).length !== 1);
    })
  })
})
