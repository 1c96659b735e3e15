import { Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import postgresJs from 'postgres'
import { ddl, postgresFailures, postgresStore } from 'tix-webhooks/postgres'
import { EFFECTS, postgresHarness } from '../inbox-harnesses.js'
import { onPostgres, postgresUrl } from '../on-servers.js'
import { INBOX_CLIENTS, kyselyDriver } from '../postgres-clients.js'
import { testDatabase } from '../postgres-database.js'
import { postgresPlace } from '../proof-places.js'
import { INBOXES, POSTGRES } from '../proof-postgres.js'
import { failureKind, type OurStore, storeKind, useProxy } from './kinds.js'

// Records past all their deadlines stay unchanged: earlier tests leave many.
const shift = (table: string, ms: number): string => `
  UPDATE store_${table}
  SET lease_until = lease_until - interval '${ms} ms',
    expires_at = expires_at - interval '${ms} ms',
    purge_after = purge_after - interval '${ms} ms'
  WHERE greatest(lease_until, expires_at, purge_after) > now()`

const pg = {
  name: 'pg',
  connect: () => new Pool({ connectionString: postgresUrl(), max: 8 }),
  end: (pool: Pool) => pool.end(),
}

const js = {
  name: 'postgres.js',
  connect: () => postgresJs(postgresUrl(), { max: 8, onnotice() {} }),
  end: (sql: postgresJs.Sql) => sql.end(),
}

const onKysely = (pool: Pool) => kyselyDriver(new Kysely({ dialect: new PostgresDialect({ pool }) }))

export const postgres: OurStore = {
  entry: 'postgres',
  describe: onPostgres,
  stores: [
    {
      name: 'postgresStore on pg',
      ...storeKind(
        pg,
        (pool, place) => postgresStore(pool, { table: `store_${place}` }),
        (pool, place, ms) => pool.query(shift(place, ms)),
      ),
    },
    {
      name: 'postgresStore on postgres.js',
      ...storeKind(
        js,
        (sql, place) => postgresStore(sql, { table: `store_${place}` }),
        (sql, place, ms) => sql.unsafe(shift(place, ms)),
      ),
    },
  ],
  failures: [
    {
      name: 'postgresFailures on pg',
      ...failureKind(pg, (pool, table) => postgresFailures(pool, { table })),
    },
    {
      name: 'postgresFailures on postgres.js',
      ...failureKind(js, (sql, table) => postgresFailures(sql, { table })),
    },
    {
      name: 'postgresFailures on Kysely',
      ...failureKind(pg, (pool, table) => postgresFailures(onKysely(pool), { table })),
    },
  ],
  inboxes: INBOX_CLIENTS.map((library) => ({
    name: `postgresInbox over ${library.name}`,
    // It learns of a lost connection with its next statement.
    ...(library.name === 'Kysely' && { fails: { 'lost-at-once': 'it has not ended after 0.5 s' } }),
    use() {
      const database = testDatabase(EFFECTS, ddl)
      const proxy = useProxy(postgresUrl)
      return () => postgresHarness(library, database, proxy()) as never
    },
  })),
  proof: {
    openPlace: () => postgresPlace(postgresUrl()),
    stores: POSTGRES,
    inboxes: INBOXES,
    clients: ['pg', 'postgres.js'],
  },
}
