import { onPostgres, postgresUrl } from '../support/on-servers.js'
import { postgresPlace } from '../support/proof-places.js'
import { INBOXES, POSTGRES } from '../support/proof-postgres.js'
import { testFaults } from '../support/sql-faults.js'

onPostgres('a receiver on Postgres survives', () => {
  testFaults({ openPlace: () => postgresPlace(postgresUrl()), stores: POSTGRES, inboxes: INBOXES })
})
