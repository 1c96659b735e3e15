import { mysqlLedgerPlace } from '../support/failure-ledger/mysql-place.js'
import { postgresLedgerPlace } from '../support/failure-ledger/postgres-place.js'
import { testLedger } from '../support/failure-ledger/sql-ledger.js'
import { mysqlUrl, onMysql, onPostgres, postgresUrl } from '../support/on-servers.js'

const GUARDS = [
  { guard: 'inbox', clients: ['pg', 'postgres.js', 'pg'] },
  { guard: 'store', clients: ['postgres.js', 'pg', 'postgres.js'] },
] as const

onPostgres.each(GUARDS)('receivers with failures and the guard $guard on Postgres', (given) => {
  testLedger({
    ...given,
    url: postgresUrl,
    openPlace: postgresLedgerPlace,
    mark: (url, place) => url.searchParams.set('application_name', place),
    // Not `synchronous_commit`, and not `READ COMMITTED`.
    commit: /(?<!_)commit\b/i,
  })
})

// With a store, the receiver does on MySQL what it does on Postgres, where that storm is played; here it is the locks of the inbox.
onMysql('receivers with failures and an inbox on MySQL', () => {
  testLedger({
    guard: 'inbox',
    isShort: true,
    clients: ['mysql2', 'mariadb', 'mysql2'],
    url: mysqlUrl,
    openPlace: mysqlLedgerPlace,
    mark(url, place) {
      url.pathname = `/${place}`
    },
    commit: /SET autocommit = 1/,
  })
})
