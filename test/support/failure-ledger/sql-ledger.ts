import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { useApps } from '../running-apps.js'
import { startProxy, type TcpProxy } from '../tcp-proxy.js'
import { PLANS } from './plans.js'
import type { FailingSettings } from './serving.js'
import { EXPECTED_OUTCOMES, type Fault, failureStorm, type SqlLedgerPlace } from './storm.js'

export interface SqlLedger {
  readonly guard: 'inbox' | 'store'
  /** The client of each process. */
  readonly clients: readonly string[]
  url(): string
  openPlace(url: string, guard: 'inbox' | 'store'): Promise<SqlLedgerPlace>
  /** Lets the connections to this URL be found by the place. */
  mark(url: URL, place: string): void
  /** Matches any COMMIT, of a handler or of a failure that is kept. */
  readonly commit: RegExp
  /** See `FailureStorm`. */
  readonly isShort?: boolean
}

/** Tests receivers with failures on a SQL server in a storm. For the body of a `describe`. */
export function testLedger({
  guard,
  clients,
  url: urlOf,
  openPlace,
  mark,
  commit,
  isShort = false,
}: SqlLedger): void {
  // A loaded machine is many times slower than an idle one.
  vi.setConfig({ testTimeout: 180_000, hookTimeout: 90_000 })

  const apps = useApps()
  const isCommit = (chunk: Buffer): boolean => commit.test(chunk.toString('latin1'))
  let place: SqlLedgerPlace
  let proxy: TcpProxy

  beforeEach(async () => {
    place = await openPlace(urlOf(), guard)
    const { hostname, port } = new URL(urlOf())
    proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
  })
  afterEach(async () => {
    await proxy.close()
    await place.close()
  })

  test('lose nothing, keep nothing that is handled, and handle what was kept once it is mended', async () => {
    const asideUrl = urlOf()
    const url = new URL(asideUrl)
    url.host = `127.0.0.1:${proxy.port}`
    mark(url, place.place)
    const isTransactional = guard === 'inbox'

    const terminate: Fault = () => place.terminate()
    const starve: Fault = (receivers) => receivers.pick().call('/starve')
    const loseReplyToCommit: Fault = () => proxy.cutAfterRequest(isCommit)

    const { violations, outcomes } = await failureStorm({
      place,
      isTransactional,
      isShort,
      // The record of a discard is the only one that an order leaves: a store may lose it.
      plans: isTransactional ? PLANS : PLANS.filter((plan) => plan !== 'is discarded'),
      seed: 20_261_124,
      start: (slot, leaseSeconds) =>
        apps.start<FailingSettings>('failing-sql', {
          client: clients[slot] as string,
          url: url.href,
          asideUrl,
          place: place.place,
          guard,
          leaseSeconds,
        }),
      faults: [
        starve,
        ...Array.from({ length: isShort ? 2 : 3 }, () => [terminate, loseReplyToCommit]).flat(),
      ],
    })
    expect(violations).toEqual([])
    expect([...outcomes.keys()]).toEqual(expect.arrayContaining(EXPECTED_OUTCOMES))
  })
}
