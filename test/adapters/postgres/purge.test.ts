import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ddl, type PostgresStore, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
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

    test('leaves alone what was completed so late that its retention is not over, though that of its claim is', async () => {
      const store = open(database).store()
      await store.claim(claimOf('k'))
      await store.complete({ key: 'k', token: 'new' }, 3 * HOUR_MS)
      await database.query("UPDATE tix_webhooks SET purge_after = purge_after - interval '3 h'")
      expect(await store.purge()).toBe(0)
      await database.query("UPDATE tix_webhooks SET expires_at = expires_at - interval '3 h'")
      expect(await store.purge()).toBe(1)
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

    test('takes no record from a storm of claims', async () => {
      const [store, claiming] = [open(database).store(), open(database).store()]
      for (let round = 0; round < 5; round++) {
        await database.query('TRUNCATE tix_webhooks')
        await insertExpired(1, 100)
        let isClaiming = true
        const purging = (async () => {
          while (isClaiming) await store.purge({ limit: 7 })
        })()
        await Promise.all(Array.from({ length: 100 }, (_, i) => claiming.claim(claimOf(`old ${100 - i}`))))
        isClaiming = false
        await purging
        expect(await database.column("SELECT count(*)::int FROM tix_webhooks WHERE token = 'new'")).toEqual([
          100,
        ])
      }
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

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5' as never])(
    'refuses a limit of %s',
    async (limit) => {
      const pool = openPg(database)
      for (const { purge } of [postgresStore(pool), postgresInbox(pool)]) {
        await expect(purge({ limit })).rejects.toThrow(/limit must be a whole number of at least 1/)
      }
    },
  )

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

    test('warns once while it fails, and goes on', async () => {
      const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {})
      onTestFinished(() => warnings.mockRestore())
      const pool = openPg(database)
      const store: PostgresStore = postgresStore(pool, { purgeEverySeconds: 60 })
      fakeTimeouts()
      await store.claim(claimOf('kept'))
      const queries = vi.spyOn(pool, 'query')
      const tryToPurge = async (): Promise<void> => {
        await vi.advanceTimersByTimeAsync(60_000)
        // Until its last statement is answered, and the next purge is scheduled.
        let asked: number
        do {
          asked = queries.mock.results.length
          await Promise.allSettled(queries.mock.results.map(({ value }) => value))
          await new Promise(setImmediate)
        } while (queries.mock.results.length > asked)
      }
      await database.query('ALTER TABLE tix_webhooks RENAME TO away')
      for (let i = 0; i < 3; i++) await tryToPurge()
      expect(warnings.mock.calls).toEqual([
        [
          expect.stringMatching(
            /^tix-webhooks: records past their retention could not be purged: The table "\w+"\."tix_webhooks" is missing/,
          ),
        ],
      ])
      await database.query('ALTER TABLE away RENAME TO tix_webhooks')
      await insertExpired(1, 3)
      await tryToPurge()
      expect(await keys()).toEqual(['kept'])
      await database.query('ALTER TABLE tix_webhooks RENAME TO away')
      await tryToPurge()
      await database.query('ALTER TABLE away RENAME TO tix_webhooks')
      expect(warnings).toHaveBeenCalledTimes(2)
    })

    test('keeps no process alive', async () => {
      const child = fileURLToPath(new URL('../../support/postgres-purging-child.ts', import.meta.url))
      const args = ['--import', 'tsx', child, database.url, database.settings()]
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
      expect(stdout).toBe('claimed\n')
    }, 60_000)

    test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2_147_484, '60' as never])(
      'refuses %s seconds',
      (purgeEverySeconds) => {
        const pool = openPg(database)
        expect(() => postgresStore(pool, { purgeEverySeconds })).toThrow(
          /purgeEverySeconds must be a number of seconds above 0/,
        )
        expect(() => postgresInbox(pool, { purgeEverySeconds })).toThrow(
          /purgeEverySeconds must be a number of seconds above 0/,
        )
      },
    )
  })
})
