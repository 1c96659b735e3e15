import { postgresLedgerPlace } from '../support/failure-ledger/postgres-place.js'
import { testLedger } from '../support/failure-ledger/sql-ledger.js'
import { onPostgres, postgresUrl } from '../support/on-servers.js'

const GUARDS = [
  { guard: 'inbox', clients: ['pg', 'postgres.js', 'pg'] },
  { guard: 'store', clients: ['postgres.js', 'pg', 'postgres.js'] },
] as const

onPostgres.each(GUARDS)('receivers with failures and the guard $guard', (given) => {
  testLedger({
    ...given,
    url: postgresUrl,
    openPlace: postgresLedgerPlace,
    mark: (url, place) => url.searchParams.set('application_name', place),
    // Not `synchronous_commit`, and not `READ COMMITTED`.
    commit: /(?<!_)commit\b/i,
  })
})
