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

const shift = (table: string, ms: number): string => `
  UPDATE store_${table}
  SET lease_until = lease_until - INTERVAL ${ms * 1000} MICROSECOND,
    expires_at = expires_at - INTERVAL ${ms * 1000} MICROSECOND,
    purge_after = purge_after - INTERVAL ${ms * 1000} MICROSECOND
  WHERE greatest(lease_until, expires_at, purge_after) > UTC_TIMESTAMP(6)`

const onMysql2 = {
  name: 'mysql2',
  connect: () => createMysql2(mysqlUrl(), { connectionLimit: 8 }),
  end: (pool: mysql2.Pool) => pool.end(),
}

const onMariadb = {
  name: 'mariadb',
  connect: () => createMariadb(mysqlUrl(), { connectionLimit: 8 }),
  end: (pool: mariadb.Pool) => pool.end(),
}

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
    {
      name: 'mysqlStore on mysql2',
      ...storeKind(
        onMysql2,
        (pool, place) => mysqlStore(pool, { table: `store_${place}` }),
        (pool, place, ms) => pool.query(shift(place, ms)),
      ),
    },
    {
      name: 'mysqlStore on mariadb',
      isTwin: true,
      ...storeKind(
        onMariadb,
        (pool, place) => mysqlStore(pool, { table: `store_${place}` }),
        (pool, place, ms) => pool.query(shift(place, ms)),
      ),
    },
  ],
  failures: [
    {
      name: 'mysqlFailures on mysql2',
      ...failureKind(onMysql2, (pool, table) => mysqlFailures(pool, { table })),
    },
    {
      name: 'mysqlFailures on mariadb',
      ...failureKind(onMariadb, (pool, table) => mysqlFailures(pool, { table })),
    },
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
