import type * as mariadb from 'mariadb'
import type mysql2 from 'mysql2/promise'
import { mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { beforeAll } from 'vitest'
import { MYSQL_EFFECTS, mysqlHarness } from '../inbox-harnesses.js'
import { createMariadb, createMysql2, MYSQL_INBOX_CLIENTS } from '../mysql-clients.js'
import { testMysqlDatabase } from '../mysql-database.js'
import { mysqlUrl, onMysql } from '../on-servers.js'
import { MYSQL, MYSQL_INBOXES } from '../proof-mysql.js'
import { mysqlPlace } from '../proof-places.js'
import { failureKind, type OurStore, storeKind, useProxy } from './kinds.js'
import { shiftMysql } from './shift.js'

const onMysql2 = (name: string) => ({
  name: `${name} on mysql2`,
  connect: () => createMysql2(mysqlUrl(), { connectionLimit: 8 }),
  end: (pool: mysql2.Pool) => pool.end(),
})

const onMariadb = (name: string) => ({
  name: `${name} on mariadb`,
  connect: () => createMariadb(mysqlUrl(), { connectionLimit: 8 }),
  end: (pool: mariadb.Pool) => pool.end(),
})

/**
 * It learns of a lost connection with its next statement; and in its own transaction, after a deadlock that a handler has caught, the
 * server commits each further statement by itself.
 */
const OF_KYSELY = {
  'lost-at-once': 'it has not ended after 0.5 s',
  swallowed: 'expected nothing to be written, but there is "after"',
}

export const mysql: OurStore = {
  entry: 'mysql',
  describe: onMysql,
  share: 1 / 2,
  stores: [
    storeKind(
      onMysql2('mysqlStore'),
      (pool, table) => mysqlStore(pool, { table }),
      (pool, table, ms) => pool.query(shiftMysql(table, ms)),
    ),
    {
      ...storeKind(
        onMariadb('mysqlStore'),
        (pool, table) => mysqlStore(pool, { table }),
        (pool, table, ms) => pool.query(shiftMysql(table, ms)),
      ),
      isTwin: true,
    },
  ],
  failures: [
    failureKind(onMysql2('mysqlFailures'), (pool, table) => mysqlFailures(pool, { table })),
    failureKind(onMariadb('mysqlFailures'), (pool, table) => mysqlFailures(pool, { table })),
  ],
  // Drizzle hands on the connection of the same pool of mysql2.
  inboxes: MYSQL_INBOX_CLIENTS.filter(({ name }) => name !== 'Drizzle on mysql2').map((library) => ({
    name: `mysqlInbox over ${library.name}`,
    ...(library.name === 'Kysely' && { fails: OF_KYSELY }),
    use() {
      const database = testMysqlDatabase(...MYSQL_EFFECTS)
      beforeAll(async () => {
        const pool = createMysql2(database.url)
        await mysqlInbox(pool)
          .migrate()
          .finally(() => pool.end())
      })
      const proxy = useProxy(mysqlUrl)
      return () => mysqlHarness(library, database, proxy()) as never
    },
  })),
  proof: {
    openPlace: () => mysqlPlace(mysqlUrl()),
    stores: MYSQL,
    inboxes: MYSQL_INBOXES,
    clients: ['mysql2'],
  },
}
