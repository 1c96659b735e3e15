import { afterAll, beforeAll, test, vi } from 'vitest'
import { withFixture } from '../support/fault-fixture.js'
import { type MysqlServer, startMysql } from '../support/mysql-server.js'
import { onOwnMysql } from '../support/on-servers.js'
import { MYSQL, MYSQL_INBOXES } from '../support/proof-mysql.js'
import { mysqlPlace, type Place } from '../support/proof-places.js'
import { playRenewal, playRestart } from '../support/restart-cases.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

/** Handlers wait for the restarts. */
const PATIENT = { timeoutSeconds: 60, leaseSeconds: 1 }

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
