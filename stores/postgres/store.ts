import { checkedFor, checkOptionNames, STATEMENT_MS } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { inBursts } from '../sql/calls.js'
import { ledgerStore } from '../sql/ledger.js'
import { DEFAULT_TABLE, type SqlStore, type SqlStoreOptions } from '../sql/options.js'
import { createPurger } from '../sql/purge.js'
import { isOfOneRow } from './advice.js'
import { keyOfCheck, requireRow, tryOut } from './check.js'
import { driverOf, queryOf } from './drivers/choose.js'
import { type Ask, answered } from './drivers/driver.js'
import type { PgPool } from './drivers/pg.js'
import type { PostgresJs } from './drivers/postgres-js.js'
import { eventsTable } from './events.js'
import { locationIn, locationOf } from './table-location.js'

export type PostgresStoreOptions = SqlStoreOptions
export type PostgresStore = SqlStore

/**
 * Remembers events in a table of Postgres 12 or newer, for all processes that share it, by the clock of the server: which were handled, and
 * why others were not. An inbox on the same table continues where a store has ended.
 *
 * @param pool a `Pool` of pg, or the `sql` of postgres.js
 * @throws TypeError when it is something else, such as a `Client` of pg, or an option is invalid
 * @example
 * ```ts
 * const store = postgresStore(new Pool({ connectionString: process.env.DATABASE_URL }))
 * await store.migrate() // when you deploy
 * tixWebhooks({ secret, on, store, namespace: 'orders' })
 * ```
 */
export function postgresStore(pool: PgPool | PostgresJs, options: PostgresStoreOptions = {}): PostgresStore {
  return checkedFor(postgresStore, () => createStore(pool, options))
}

function createStore(pool: PgPool | PostgresJs, options: PostgresStoreOptions): PostgresStore {
  const { table: given = DEFAULT_TABLE, purgeEverySeconds } = checkOptionNames(options, [
    'table',
    'purgeEverySeconds',
  ])
  const query = queryOf(pool)
  /** With a limit, also of the time until there is a connection: a statement under way holds up others. */
  const ask: Ask = async (...statement) => answered(STATEMENT_MS, query(...statement))
  const events = eventsTable(locationIn(pool, given), 'store.migrate()')
  const { purge: deleteExpired, ...table } = events.through(ask)
  const { purgeAfter, purge } = createPurger(deleteExpired, purgeEverySeconds)
  const store = ledgerStore(inBursts(table, (error) => isOfOneRow((error as Error).cause)))

  /** Claims and completes as a delivery does. */
  const check = (): Promise<void> =>
    tryOut(driverOf(pool), async (askInside) => {
      await events.checkColumns(askInside)
      const { upsert, find } = events.through(askInside)
      const lease = { key: keyOfCheck(), token: 'check' }
      const [claimed] = await upsert('claim', [{ ...lease, lease_ms: 1_000, retain_ms: 1_000 }])
      const [completed] = await upsert('complete', [{ ...lease, retain_ms: 1_000 }])
      const isThere = claimed?.isOwn === true && completed?.isOwn === true
      requireRow(isThere && (await find(lease.key)) !== undefined, events.name)
    })

  return checkedStore<PostgresStore>({
    ...store,
    claim: (request) => purgeAfter(request.retainMs, () => store.claim(request)),
    // Not among the calls of deliveries: a probe asks for the database, not for the length of a queue.
    check: () =>
      check().catch((error) => {
        throw events.unavailable(error)
      }),
    purge,
    migrate: () => events.migrate(driverOf(pool)),
    ddl: events.ddl,
  })
}

/** The SQL that creates the table, by its default name. */
export const eventsDdl: string = eventsTable(locationOf(DEFAULT_TABLE), '').ddl
