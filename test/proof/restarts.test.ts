import type { Outcome } from 'tix-webhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FaultFixture, withFixture } from '../support/fault-fixture.js'
import { startMysql } from '../support/mysql-server.js'
import { onOwnMysql, onOwnPostgres, onOwnRedis } from '../support/on-servers.js'
import { startPostgres } from '../support/postgres-server.js'
import {
  MYSQL,
  MYSQL_INBOXES,
  type OpenInbox,
  type OpenStore,
  POSTGRES,
  POSTGRES_INBOXES,
  REDIS,
} from '../support/proof-clients.js'
import { mysqlPlace, type Place, postgresPlace, redisPlace } from '../support/proof-places.js'
import { startRedis } from '../support/redis-server.js'
import { newOrders } from '../support/running-apps.js'

/** Handlers wait for the restarts. */
const PATIENT = { timeoutSeconds: 60, leaseSeconds: 1 }

interface Server {
  readonly url: string
  restart(how?: string): Promise<void>
  stop(): Promise<void>
}

interface Kind {
  readonly name: string
  readonly describe: typeof onOwnRedis
  start(): Promise<unknown>
  openPlace(url: string): Promise<Place>
  readonly stores: Readonly<Record<string, OpenStore>>
  readonly inboxes: Readonly<Record<string, OpenInbox>>
  /** Orderly, and at once. */
  readonly ends: readonly string[]
}

const KINDS: readonly Kind[] = [
  {
    name: 'Redis that keeps what it has on disk',
    describe: onOwnRedis,
    start: () => startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] }),
    openPlace: (url) => redisPlace(url, 'restarts:'),
    stores: REDIS,
    inboxes: {},
    ends: ['SIGTERM', 'SIGKILL'],
  },
  {
    name: 'Postgres',
    describe: onOwnPostgres,
    start: () => startPostgres(),
    openPlace: postgresPlace,
    stores: POSTGRES,
    inboxes: POSTGRES_INBOXES,
    ends: ['fast', 'immediate'],
  },
  {
    name: 'MySQL',
    describe: onOwnMysql,
    start: () => startMysql(),
    openPlace: mysqlPlace,
    stores: { mysql2: MYSQL.mysql2 },
    inboxes: MYSQL_INBOXES,
    ends: ['SIGTERM', 'SIGKILL'],
  },
]

for (const { name, describe, start, openPlace, stores, inboxes, ends } of KINDS) {
  describe(`a receiver on a ${name}`, () => {
    let server: Server
    let place: Place
    beforeAll(async () => {
      server = (await start()) as Server
      place = await openPlace(server.url)
    })
    afterAll(async () => {
      await place?.close()
      await server?.stop()
    })

    const rowsOf = <Open>(clients: Readonly<Record<string, Open>>) =>
      Object.entries(clients).flatMap(([client, open]) => ends.map((how) => ({ client, open, how })))

    test.each(rowsOf(stores))('loses no event of its store on $client in a $how restart', ({ open, how }) =>
      withFixture({ place, open }, (fixture) => playRestart(fixture, () => server.restart(how))),
    )

    test.each(Object.entries(stores))(
      'keeps an event whose renewal on %s was under way when it was restarted',
      (_client, open) =>
        withFixture({ place, open, ...PATIENT }, (fixture) => playRenewal(fixture, () => server.restart())),
    )

    test.each(rowsOf(inboxes))(
      'has each effect of its inbox on $client exactly once in a $how restart',
      ({ open, how }) =>
        withFixture({ place, open: (at) => open(at) }, (fixture) =>
          playRestart(fixture, () => server.restart(how)),
        ),
    )
  })
}

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
