import type { ClaimResult, IdempotencyStore } from 'tix-webhooks'
import { ddl } from 'tix-webhooks/postgres'
import { beforeEach, expect, test } from 'vitest'
import { onPostgres } from '../../support/on-servers.js'
import { openPg, STORE_CLIENTS } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'

const HOUR_MS = 3_600_000
const TIMES = { leaseMs: HOUR_MS, retainMs: 24 * HOUR_MS }
const KEYS = Array.from({ length: 150 }, (_, i) => `order ${(i * 67) % 150}`)
/** Each has characters that an array literal, SQL or a client could misread. */
const HOSTILE = [
  '"',
  '\\',
  '\\"',
  '{}',
  '{a,b}',
  ',',
  'NULL',
  'null',
  "'",
  "a'; --",
  '$1',
  ' a ',
  '%',
  '()',
  '\\x00',
  'A',
]

const claimed = (attempt: number): ClaimResult => ({ status: 'claimed', attempt })
const IN_FLIGHT = { status: 'in_flight', retryAfterMs: expect.any(Number) }

function each<T>(keys: readonly string[], call: (key: string) => Promise<T>): Promise<T[]> {
  return Promise.all(keys.map(call))
}

const claimAll = (store: IdempotencyStore, keys: readonly string[], token = 'a') =>
  each(keys, async (key) => store.claim({ key, token, ...TIMES }))

onPostgres.each(STORE_CLIENTS)('a burst of calls of postgresStore over $name', ({ open }) => {
  const database = testDatabase(ddl)
  beforeEach(() => database.query('TRUNCATE tix_webhooks'))

  test('keeps what is in keys and tokens out of the SQL, and each answer with its key', async () => {
    const store = open(database).store()
    const tokenOf = (key: string) => HOSTILE[HOSTILE.length - 1 - HOSTILE.indexOf(key)] as string
    // By the token of another one in the same statement.
    await claimAll(store, HOSTILE.slice(0, 4), HOSTILE[0])
    const answers = await each(HOSTILE, (key) => store.claim({ key, token: tokenOf(key), ...TIMES }))
    expect(answers).toEqual(HOSTILE.map((_, i) => (i < 4 ? IN_FLIGHT : claimed(1))))
    const mine = HOSTILE.map((_, i) => i >= 4)
    expect(await each(HOSTILE, (key) => store.renew({ key, token: tokenOf(key) }, HOUR_MS))).toEqual(mine)
    expect(await each(HOSTILE, (key) => store.complete({ key, token: tokenOf(key) }, HOUR_MS))).toEqual(mine)
    expect(await database.column('SELECT key FROM tix_webhooks ORDER BY key')).toEqual([...HOSTILE].sort())
  })

  // The server does not end one here, because what it ends is sent again and passes: the test would not notice.
  test('has no deadlock with another process whose calls come in the opposite order', async () => {
    const stores = ['one', 'other'].map(() =>
      open(database, { settings: { deadlock_timeout: '10min' } }).store(),
    )
    const orders = [KEYS, [...KEYS].reverse()]
    const settled = await Promise.allSettled(
      stores.flatMap((store, i) => {
        const token = `t${i}`
        return [0, 1, 2].flatMap(() => [
          claimAll(store, orders[i] as string[], token),
          each(orders[1 - i] as string[], (key) => store.renew({ key, token }, HOUR_MS)),
          each(orders[i] as string[], (key) => store.release({ key, token })),
          each(orders[1 - i] as string[], (key) => store.complete({ key, token }, HOUR_MS)),
        ])
      }),
    )
    expect(settled.filter(({ status }) => status === 'rejected')).toEqual([])
  })

  test('goes by the newest version of a record that it has waited for', async () => {
    const store = open(database).store()
    const keys = ['taken over', 'extended', 'free']
    const calls: [string, (key: string) => Promise<boolean>][] = [
      ['renew', (key) => store.renew({ key, token: 'a' }, HOUR_MS)],
      ['complete', (key) => store.complete({ key, token: 'a' }, HOUR_MS)],
      ['release', (key) => store.release({ key, token: 'a' })],
    ]
    for (const [name, call] of calls) {
      await database.query('TRUNCATE tix_webhooks')
      await claimAll(store, keys)
      const other = await openPg(database).connect()
      await other.query("BEGIN; UPDATE tix_webhooks SET token = 'b', attempt = 2 WHERE key = 'taken over'")
      await other.query("UPDATE tix_webhooks SET attempt = 7 WHERE key = 'extended'")
      const answers = each(keys, call)
      const isWaiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${database.schema}"%'`
      while ((await database.query(isWaiting)).length === 0);
      await other.query('COMMIT')
      other.release()
      expect(await answers, name).toEqual([false, true, true])
      expect(await database.column('SELECT attempt FROM tix_webhooks ORDER BY key'), name).toEqual([7, 1, 2])
    }
  })

  test('grants nothing twice if its connections are terminated: each call rejects or is right', async () => {
    const name = `burst ${database.schema}`
    const store = open(database, { settings: { application_name: name }, max: 10 }).store()
    const tokens = ['a', 'b', 'c', 'd']
    let ended = 0
    const terminating = (async () => {
      while (ended === 0) {
        await database.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
          [name],
        )
      }
    })()
    const grants = new Map<string, number>()
    let rejected = 0
    for (const token of tokens) {
      const answers = await Promise.allSettled(KEYS.map((key) => store.claim({ key, token, ...TIMES })))
      for (const [i, answer] of answers.entries()) {
        if (answer.status === 'rejected') {
          expect(answer.reason).toMatchObject({ code: 'store_unavailable' })
          rejected++
        } else if (answer.value.status === 'claimed') {
          grants.set(KEYS[i] as string, (grants.get(KEYS[i] as string) ?? 0) + 1)
        }
      }
    }
    ended = 1
    await terminating
    expect(Math.max(0, ...grants.values())).toBeLessThanOrEqual(1)
    expect(rejected).toBeGreaterThan(0)
    // And it goes on.
    await expect
      .poll(
        () =>
          claimAll(
            store,
            KEYS.map((key) => `after ${key}`),
          ).catch(() => []),
        { timeout: 10_000 },
      )
      .toEqual(KEYS.map(() => claimed(1)))
  })
})
