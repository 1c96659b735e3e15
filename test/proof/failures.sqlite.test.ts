import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PLANS } from '../support/failure-ledger/plans.js'
import type { FailingSettings } from '../support/failure-ledger/serving.js'
import { type SqliteLedgerPlace, sqliteLedgerPlace } from '../support/failure-ledger/sqlite-place.js'
import { EXPECTED_OUTCOMES, type Fault, failureStorm } from '../support/failure-ledger/storm.js'
import { useApps } from '../support/running-apps.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 90_000 })

const DRIVER = 'libsql'
const LOCKED_MS = 500

const apps = useApps()
let place: SqliteLedgerPlace

beforeEach(async () => {
  place = await sqliteLedgerPlace(DRIVER)
})
afterEach(() => place.close())

test('lose nothing, keep nothing that is handled, and handle what was kept once it is mended', async () => {
  const lock: Fault = async () => {
    const unlock = place.lock()
    await pause(LOCKED_MS)
    unlock()
  }
  const loseCommit: Fault = (receivers) => receivers.pick().call('/lose-commit')

  const { violations, outcomes } = await failureStorm({
    place,
    isTransactional: true,
    plans: PLANS,
    seed: 20_261_124,
    start: () =>
      apps.start<FailingSettings>('failing-sqlite', {
        client: DRIVER,
        url: place.file,
        asideUrl: place.asideFile,
        place: '',
        guard: 'inbox',
        leaseSeconds: 2,
      }),
    faults: [lock, lock, loseCommit, loseCommit, loseCommit],
  })
  expect(violations).toEqual([])
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(EXPECTED_OUTCOMES))
})
