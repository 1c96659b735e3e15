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
import { shiftPostgres } from './shift.js'

const onPg = (name: string) => ({
  name: `${name} on pg`,
  connect: () => new Pool({ connectionString: postgresUrl(), max: 8 }),
  end: (pool: Pool) => pool.end(),
})

const onJs = (name: string) => ({
  name: `${name} on postgres.js`,
  connect: () => postgresJs(postgresUrl(), { max: 8, onnotice() {} }),
  end: (sql: postgresJs.Sql) => sql.end(),
})

const onKysely = { ...onPg('postgresFailures'), name: 'postgresFailures on Kysely' }
const kyselyOf = (pool: Pool) => kyselyDriver(new Kysely({ dialect: new PostgresDialect({ pool }) }))

export const postgres: OurStore = {
  entry: 'postgres',
  describe: onPostgres,
  stores: [
    storeKind(
      onPg('postgresStore'),
      (pool, table) => postgresStore(pool, { table }),
      (pool, table, ms) => pool.query(shiftPostgres(table, ms)),
    ),
    storeKind(
      onJs('postgresStore'),
      (sql, table) => postgresStore(sql, { table }),
      (sql, table, ms) => sql.unsafe(shiftPostgres(table, ms)),
    ),
  ],
  failures: [
    failureKind(onPg('postgresFailures'), (pool, table) => postgresFailures(pool, { table })),
    failureKind(onJs('postgresFailures'), (sql, table) => postgresFailures(sql, { table })),
    failureKind(onKysely, (pool, table) => postgresFailures(kyselyOf(pool), { table })),
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
