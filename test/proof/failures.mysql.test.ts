import { mysqlLedgerPlace } from '../support/failure-ledger/mysql-place.js'
import { testLedger } from '../support/failure-ledger/sql-ledger.js'
import { mysqlUrl, onMysql } from '../support/on-servers.js'

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
