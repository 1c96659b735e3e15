import { mysqlLedgerPlace } from '../support/failure-ledger/mysql-place.js'
import { testLedger } from '../support/failure-ledger/sql-ledger.js'
import { mysqlUrl, onMysql } from '../support/on-servers.js'

const GUARDS = [
  { guard: 'inbox', clients: ['mysql2', 'mariadb', 'mysql2'] },
  { guard: 'store', clients: ['mariadb', 'mysql2', 'mariadb'] },
] as const

onMysql.each(GUARDS)('receivers with failures and the guard $guard on MySQL', (given) => {
  testLedger({
    ...given,
    url: mysqlUrl,
    openPlace: mysqlLedgerPlace,
    mark(url, place) {
      url.pathname = `/${place}`
    },
    commit: /SET autocommit = 1/,
  })
})
