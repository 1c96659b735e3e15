import type { Outcome } from 'tix-webhooks'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type FaultFixture, withFixture } from '../support/fault-fixture.js'
import { type MysqlServer, startMysql } from '../support/mysql-server.js'
import { onOwnMysql, onOwnPostgres, onOwnRedis } from '../support/on-servers.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { MYSQL, MYSQL_INBOXES } from '../support/proof-mysql.js'
import { mysqlPlace, type Place, postgresPlace, redisPlace } from '../support/proof-places.js'
import { INBOXES, POSTGRES } from '../support/proof-postgres.js'
import { REDIS } from '../support/proof-redis.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
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

  describe.each(Object.entries(REDIS))('with %s', (_client, open) => {
    test.each(['SIGTERM', 'SIGKILL'] as const)('loses no event when it is restarted after %s', (signal) =>
      withFixture({ place, open }, (fixture) => playRestart(fixture, () => server.restart(signal))),
    )

    test('keeps an event whose renewal was under way when it was restarted', () =>
      withFixture({ place, open, ...PATIENT }, (fixture) => playRenewal(fixture, () => server.restart())))
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

  describe.each(['pg', 'postgres.js'] as const)('with %s', (client) => {
    const open = POSTGRES[client]

    test.each(['fast', 'immediate'] as const)('loses no event of its store in a %s restart', (mode) =>
      withFixture({ place, open }, (fixture) => playRestart(fixture, () => server.restart(mode))),
    )

    test('keeps an event whose renewal was under way when it was restarted', () =>
      withFixture({ place, open, ...PATIENT }, (fixture) => playRenewal(fixture, () => server.restart())))

    test.each(['fast', 'immediate'] as const)(
      'has each effect of its inbox exactly once in a %s restart',
      (mode) =>
        withFixture({ place, open: (at) => INBOXES[client](at) }, (fixture) =>
          playRestart(fixture, () => server.restart(mode)),
        ),
    )
  })
})

onOwnMysql('a receiver on a MySQL', () => {
  let server: MysqlServer
  let place: Place
  beforeAll(async () => {
    server = await startMysql()
    place = await mysqlPlace(server.url)
  })
  afterAll(async () => {
    await place?.close()
    await server?.stop()
  })

  test('loses no event of its store when it is restarted after SIGKILL', () =>
    withFixture({ place, open: MYSQL.mysql2 }, (fixture) =>
      playRestart(fixture, () => server.restart('SIGKILL')),
    ))

  test('keeps an event whose renewal was under way when it was restarted', () =>
    withFixture({ place, open: MYSQL.mysql2, ...PATIENT }, (fixture) =>
      playRenewal(fixture, () => server.restart()),
    ))

  // Each client has its own way to learn that a server ended.
  test.each([
    ['SIGTERM', 'mariadb'],
    ['SIGKILL', 'mysql2'],
  ] as const)(
    'has each effect of its inbox exactly once when it is restarted after %s, with %s',
    (signal, client) =>
      withFixture({ place, open: MYSQL_INBOXES[client] }, (fixture) =>
        playRestart(fixture, () => server.restart(signal)),
      ),
  )
})

/** Restarts the server in the middle of a handler, while deliveries keep arriving. */
async function playRestart(fixture: FaultFixture, restart: () => Promise<void>): Promise<void> {
  const orders = await newOrders(40)
  let handled = 0
  let restarted: Promise<void> | undefined
  fixture.afterEffect(async () => {
    if (++handled === 10) restarted = restart()
    if (handled >= 8 && handled < 14) await restarted
  })

  const isTaken = ({ outcome }: Outcome): boolean => outcome !== 'unavailable' && outcome !== 'failed'
  const queue = [...orders]
  async function lane(): Promise<void> {
    for (let order = queue.shift(); order !== undefined; order = queue.shift()) {
      if (isTaken(await fixture.send(order))) continue
      // A sender waits; the others have meanwhile found the server down.
      await restarted
      await fixture.until(order, isTaken)
    }
  }
  await Promise.all([lane(), lane(), lane(), lane(), lane(), lane()])
  expect(restarted).toBeDefined()

  let effects = 0
  for (const order of orders) {
    // The process that held it may have been unable to record its end.
    await fixture.place.expireLease(order)
    await fixture.untilDone(order)
    expect(await fixture.send(order)).toEqual({ outcome: 'duplicate' })
    expect(await fixture.effects(order)).toBeGreaterThanOrEqual(1)
    effects += await fixture.effects(order)
  }
  // A second run was reported, at the latest when the last completion was given up.
  await fixture.drain()
  const lost = fixture.reports.filter((code) => code === 'not_recorded').length
  expect(effects).toBeLessThanOrEqual(orders.length + lost)
}

/** Restarts the server during a renewal, and lets the old lease expire: no other delivery has come, so it is still ours. */
async function playRenewal(fixture: FaultFixture, restart: () => Promise<void>): Promise<void> {
  const [order] = await newOrders(1)
  if (order === undefined) return
  fixture.beforeEffect(async () => {
    fixture.proxy.hold()
    await fixture.proxy.nextRequest()
    await restart()
    fixture.proxy.flush()
    await fixture.place.expireLease(order)
  })
  expect(await fixture.send(order)).toEqual({ outcome: 'handled' })
  expect(fixture.reports).not.toContain('not_recorded')
  fixture.beforeEffect(async () => {})
  expect(await fixture.send(order)).toEqual({ outcome: 'duplicate' })
  expect(fixture.calls(order)).toBe(1)
}
