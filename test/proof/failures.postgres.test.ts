import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PLANS } from '../support/failure-ledger/plans.js'
import { type PostgresLedgerPlace, postgresLedgerPlace } from '../support/failure-ledger/postgres-place.js'
import type { FailingSettings } from '../support/failure-ledger/serving.js'
import { EXPECTED_OUTCOMES, type Fault, failureStorm } from '../support/failure-ledger/storm.js'
import { onPostgres, postgresUrl } from '../support/on-servers.js'
import type { PostgresClientName } from '../support/proof-postgres.js'
import { useApps } from '../support/running-apps.js'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 90_000 })

const apps = useApps()

/** The client of each process. */
const CLIENTS: Readonly<Record<string, readonly PostgresClientName[]>> = {
  inbox: ['pg', 'postgres.js', 'pg'],
  store: ['postgres.js', 'pg', 'postgres.js'],
}

/** Any COMMIT, of a handler or of a failure that is kept; not `synchronous_commit`, and not `READ COMMITTED`. */
const isCommit = (chunk: Buffer): boolean => /(?<!_)commit\b/i.test(chunk.toString('latin1'))

onPostgres.each(['inbox', 'store'] as const)('receivers with failures and the guard %s', (guard) => {
  let place: PostgresLedgerPlace
  let proxy: TcpProxy

  beforeEach(async () => {
    place = await postgresLedgerPlace(postgresUrl(), guard)
    const { hostname, port } = new URL(postgresUrl())
    proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
  })
  afterEach(async () => {
    await proxy.close()
    await place.close()
  })

  test('lose nothing, keep nothing that is handled, and handle what was kept once it is mended', async () => {
    const asideUrl = postgresUrl()
    const url = new URL(asideUrl)
    url.host = `127.0.0.1:${proxy.port}`
    url.searchParams.set('application_name', place.place)
    const isTransactional = guard === 'inbox'

    const terminate: Fault = () => place.terminate()
    const starve: Fault = (receivers) => receivers.pick().call('/starve')
    const loseReplyToCommit: Fault = () => proxy.cutAfterRequest(isCommit)

    const { violations, outcomes } = await failureStorm({
      place,
      isTransactional,
      // The record of a discard is the only one that an order leaves: a store may lose it.
      plans: isTransactional ? PLANS : PLANS.filter((plan) => plan !== 'is discarded'),
      seed: 20_261_124,
      start: (slot, leaseSeconds) =>
        apps.start<FailingSettings>('failing-postgres', {
          client: CLIENTS[guard]?.[slot] as string,
          url: url.href,
          asideUrl,
          place: place.place,
          guard,
          leaseSeconds,
        }),
      faults: [
        terminate,
        terminate,
        terminate,
        starve,
        loseReplyToCommit,
        loseReplyToCommit,
        loseReplyToCommit,
      ],
    })
    expect(violations).toEqual([])
    expect([...outcomes.keys()]).toEqual(expect.arrayContaining(EXPECTED_OUTCOMES))
  })
})
