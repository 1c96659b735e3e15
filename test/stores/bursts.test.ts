import type { ClaimResult, IdempotencyStore } from 'tix-webhooks'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { startProxy } from '../support/tcp-proxy.js'
import { BACKENDS, TABLE } from './backends.js'

const HOUR_MS = 3_600_000
const TIMES = { leaseMs: HOUR_MS, retainMs: 24 * HOUR_MS }
const KEYS = Array.from({ length: 150 }, (_, i) => `order ${(i * 67) % 150}`)
const HALF = KEYS.length / 2
const IN_FLIGHT = { status: 'in_flight', retryAfterMs: expect.any(Number) }
const claimed = (attempt: number): ClaimResult => ({ status: 'claimed', attempt })
const all = <T>(answer: T): T[] => KEYS.map(() => answer)
const each = <T>(keys: readonly string[], call: (key: string) => Promise<T>) => Promise.all(keys.map(call))
/** Of calls that are sent one by one: none may wait for longer than a second. */
async function inTens<T>(keys: readonly string[], call: (key: string) => Promise<T>): Promise<T[]> {
  const answers: T[] = []
  for (let i = 0; i < keys.length; i += 10) answers.push(...(await each(keys.slice(i, i + 10), call)))
  return answers
}
const claimAll = (store: IdempotencyStore, keys: readonly string[], token = 'a') =>
  each(keys, async (key) => store.claim({ key, token, ...TIMES }))

/** The most round trips of a burst. */
const MOST_TRIPS = {
  // Two statements, and what a connection needs before its first one.
  postgres: 11,
  // Two bursts: each begins a transaction, writes, reads and commits.
  mysql: 8,
}

for (const { name, server, describe, prepare } of BACKENDS) {
  if (server === 'sqlite') continue

  describe(`a burst of calls of the store of ${name}`, () => {
    const database = prepare()
    beforeEach(async () => {
      await database.query(`DROP TABLE IF EXISTS ${TABLE}`)
      await database.open().store.migrate()
    })

    test('is answered as the calls would be one by one, with four connections and few round trips', async () => {
      const proxy = await startProxy(database.address?.() as { host: string; port: number })
      onTestFinished(() => proxy.close())
      const { store } = database.open({ port: proxy.port, connections: 10 })
      // It connects, as often as it will.
      for (const kind of ['warm', 'warmer']) {
        await claimAll(
          store,
          KEYS.map((key) => `${kind} ${key}`),
        )
      }
      const before = proxy.roundTrips
      expect(await claimAll(store, KEYS)).toEqual(all(claimed(1)))
      expect(proxy.roundTrips - before).toBeLessThanOrEqual(MOST_TRIPS[server])
      expect(await claimAll(store, KEYS)).toEqual(all(claimed(1)))
      const denied = await claimAll(store, KEYS, 'b')
      expect(denied).toEqual(all(IN_FLIGHT))
      for (const answer of denied) {
        expect(answer.status === 'in_flight' && answer.retryAfterMs).toBeGreaterThan(HOUR_MS / 2)
      }

      // All four kinds at once, of which the second half has another holder.
      const halfOf = <T>(first: T, second: T): T[] => KEYS.map((_, i) => (i < HALF ? first : second))
      const others = KEYS.slice(HALF).map((key) => `'${key}'`)
      await database.query(`UPDATE ${TABLE} SET token = 'c' WHERE event_key IN (${others.join()})`)
      expect(
        await Promise.all([
          inTens(KEYS, (key) => store.renew({ key, token: 'a' }, 2 * HOUR_MS)),
          claimAll(
            store,
            KEYS.map((key) => `new ${key}`),
          ),
          each(KEYS, (key) => store.complete({ key: `absent ${key}`, token: 'a' }, HOUR_MS)),
          inTens(KEYS, (key) => store.release({ key: `unknown ${key}`, token: 'b' })),
        ]),
      ).toEqual([halfOf(true, false), all(claimed(1)), all(true), all(false)])
      const renewed = await claimAll(store, KEYS.slice(0, HALF), 'b')
      for (const answer of renewed) {
        expect(answer.status === 'in_flight' && answer.retryAfterMs).toBeGreaterThan(1.5 * HOUR_MS)
      }

      expect(await inTens(KEYS, (key) => store.release({ key, token: 'a' }))).toEqual(halfOf(true, false))
      // After its own release a claim changes nothing.
      const early = await claimAll(store, KEYS.slice(0, HALF))
      expect(early).toEqual(early.map(() => ({ status: 'in_flight', retryAfterMs: 1 })))
      expect(await claimAll(store, KEYS, 'b')).toEqual(halfOf(claimed(2), IN_FLIGHT as never))
      expect(await each(KEYS, (key) => store.complete({ key, token: 'b' }, HOUR_MS))).toEqual(
        halfOf(true, false),
      )
      expect(await inTens(KEYS, (key) => store.isHandled(key))).toEqual(halfOf(true, false))
      expect(await claimAll(store, KEYS, 'd')).toEqual(halfOf({ status: 'completed' }, IN_FLIGHT as never))
      expect(proxy.connections).toBeLessThanOrEqual(4)
    })

    test('passes without the record that a constraint refuses', async () => {
      await database.query(`ALTER TABLE ${TABLE} ADD CONSTRAINT refuse CHECK (event_key <> 'order 7')`)
      const { store } = database.open({ connections: 10 })
      const settled = await Promise.allSettled(
        KEYS.map(async (key) => store.claim({ key, token: 'a', ...TIMES })),
      )
      for (const [i, one] of settled.entries()) {
        if (KEYS[i] === 'order 7') {
          expect(one).toMatchObject({
            reason: { code: 'store_unavailable', cause: { message: expect.stringMatching(/\brefuse\b/) } },
          })
        } else expect(one).toEqual({ status: 'fulfilled', value: claimed(1) })
      }
    })
  })
}
