import { mysqlUrl, onMysql } from '../support/on-servers.js'
import { MYSQL, MYSQL_INBOXES } from '../support/proof-mysql.js'
import { mysqlPlace } from '../support/proof-places.js'
import { testFaults } from '../support/sql-faults.js'

onMysql('a receiver on MySQL survives', () => {
  testFaults({
    openPlace: () => mysqlPlace(mysqlUrl()),
    stores: { mysql2: MYSQL.mysql2 },
    inboxes: { mysql2: MYSQL_INBOXES.mysql2 },
  })
})
