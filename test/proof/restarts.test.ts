import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { withFixture } from '../support/fault-fixture.js'
import { onOwnPostgres, onOwnRedis } from '../support/on-servers.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { type Place, postgresPlace, redisPlace } from '../support/proof-places.js'
import { INBOXES, POSTGRES, type PostgresClientName } from '../support/proof-postgres.js'
import { REDIS, type RedisClientName } from '../support/proof-redis.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { playRenewal, playRestart } from '../support/restart-cases.js'
import { newOrders } from '../support/running-apps.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

/** Handlers wait for the restarts. */
const PATIENT = { timeoutSeconds: 60, leaseSeconds: 1 }

onOwnRedis('a receiver on a Redis that keeps what it has on disk', () => {
  let server: RedisServer
  let place: Place
  beforeAll(async () => {
    server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
    place = await redisPlace(server.url, 'restarts:')
  })
  afterAll(async () => {
    await place?.close()
    await server?.stop()
  })

  describe.each(Object.keys(REDIS) as RedisClientName[])('with %s', (client) => {
    const open = REDIS[client]

    test.each(['SIGTERM', 'SIGKILL'] as const)('loses no event when it is restarted after %s', (signal) =>
      withFixture({ place, open }, (fixture) => playRestart(fixture, () => server.restart(signal))),
    )

    test('keeps an event whose renewal was under way when it was restarted', () =>
      withFixture({ place, open, ...PATIENT }, (fixture) => playRenewal(fixture, () => server.restart())))

    test('does not notice when the scripts are flushed again and again', () =>
      withFixture({ place, open }, async (fixture) => {
        const flusher = await createClient({ url: server.url }).connect()
        try {
          const orders = await newOrders(20)
          fixture.beforeEffect(() => flusher.scriptFlush())
          for (const outcome of ['handled', 'duplicate']) {
            const ends = await Promise.all(orders.map(fixture.send))
            expect(ends).toEqual(orders.map(() => ({ outcome })))
            await flusher.scriptFlush()
          }
          expect(fixture.reports).toEqual([])
        } finally {
          flusher.destroy()
        }
      }))
  })
})

onOwnPostgres('a receiver on a Postgres', () => {
  let server: PostgresServer
  let place: Place
  beforeAll(async () => {
    server = await startPostgres()
    place = await postgresPlace(server.url)
  })
  afterAll(async () => {
    await place?.close()
    await server?.stop()
  })

  describe.each(Object.keys(POSTGRES) as PostgresClientName[])('with %s', (client) => {
    const open = POSTGRES[client]

    test.each(['fast', 'immediate'] as const)('loses no event of its store in a %s restart', (mode) =>
      withFixture({ place, open }, (fixture) => playRestart(fixture, () => server.restart(mode))),
    )

    test('keeps an event whose renewal was under way when it was restarted', () =>
      withFixture({ place, open, ...PATIENT }, (fixture) => playRenewal(fixture, () => server.restart())))

    test.each(['fast', 'immediate'] as const)(
      'has each effect of its inbox exactly once in a %s restart',
      (mode) =>
        withFixture({ place, open: INBOXES[client] }, (fixture) =>
          playRestart(fixture, () => server.restart(mode)),
        ),
    )
  })
})
