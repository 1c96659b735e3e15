import { checkedFor, ROLLBACK_MARGIN_MS, STATEMENT_MS } from '../../src/internal.js'
import { inBursts } from '../sql/calls.js'
import { type InboxBackend, type Opening, sqlInbox } from '../sql/inbox.js'
import {
  checkInboxOptions,
  type SqlInbox,
  type SqlInboxAsOptions,
  type SqlInboxOptions,
} from '../sql/options.js'
import { sharedConnections } from '../sql/shared-connections.js'
import { openAnswer } from '../sql/verdict.js'
import { isOfOneRow } from './advice.js'
import { keyOfCheck, requireRow, tryOut } from './check.js'
import { driverOf, type TransactionOf } from './drivers/choose.js'
import { type Ask, answered, type PostgresDriver, unchecked } from './drivers/driver.js'
import type { PgPool } from './drivers/pg.js'
import type { PostgresJs } from './drivers/postgres-js.js'
import { eventsTable } from './events.js'
import { newestTable } from './newest.js'
import { locationIn } from './table-location.js'

export type PostgresInboxOptions = SqlInboxOptions
/** Options for a `Pool` of pg whose handlers get another object than its client. */
export type PostgresInboxAsOptions<Client, Tx> = SqlInboxAsOptions<Client, Tx>
export type PostgresInbox<Tx> = SqlInbox<Tx>

/**
 * Effects exactly once: handlers get `ctx.tx`, a transaction of your database. Their writes through it are committed together with
 * the record that the event was handled, or not at all. A process that dies at any moment changes nothing.
 *
 * A handler holds a connection while it runs. So there are as many runs at the same time as the pool has connections, but one, which is left
 * to the rest of your app: see the option `concurrency`. An effect outside of the database,
 * such as an e-mail, belongs into a row that is sent after the commit.
 *
 * @param pool a `Pool` of pg, the `sql` of postgres.js, or a driver for another library
 * @throws TypeError when it is something else, such as a `DataSource` of TypeORM, or an option is invalid
 * @example
 * ```ts
 * const inbox = postgresInbox(new Pool({ connectionString: process.env.DATABASE_URL }))
 * await inbox.migrate() // when you deploy
 * tixWebhooks({
 *   secret,
 *   inbox,
 *   namespace: 'orders',
 *   on: {
 *     'order.created': async (event, ctx) => {
 *       await ctx.tx.query('INSERT INTO orders (id, data) VALUES ($1, $2)', [event.data.order.id, event.data])
 *     },
 *   },
 * })
 * ```
 */
export function postgresInbox<Pool extends PgPool, Tx>(
  pool: Pool,
  options: PostgresInboxAsOptions<TransactionOf<Pool>, Tx>,
): PostgresInbox<Tx>
export function postgresInbox<Pool extends PgPool | PostgresJs>(
  pool: Pool,
  options?: PostgresInboxOptions,
): PostgresInbox<TransactionOf<Pool>>
export function postgresInbox<Tx>(
  driver: PostgresDriver<Tx>,
  options?: PostgresInboxOptions,
): PostgresInbox<Tx>
export function postgresInbox<Tx>(
  pool: PgPool | PostgresJs | PostgresDriver<Tx>,
  options: PostgresInboxOptions & { as?(client: never): Tx } = {},
): PostgresInbox<Tx> {
  return checkedFor(postgresInbox, () => createInbox(pool, options))
}

function createInbox<Tx>(
  pool: PgPool | PostgresJs | PostgresDriver<Tx>,
  options: PostgresInboxOptions,
): PostgresInbox<Tx> {
  const checked = checkInboxOptions(options)
  const driver = driverOf<Tx>(pool, checked.as as (client: never) => Tx)
  const location = locationIn(pool, checked.table)
  const events = eventsTable(location, MIGRATE)
  const newest = newestTable(location, driver, MIGRATE)

  /** Of what is no run: a transaction for each statement, because a driver of a user's has nothing else. */
  const ask: Ask = (...statement) =>
    answered(
      STATEMENT_MS,
      driver.transaction((tx) => driver.first(tx, ...statement), unchecked),
    )
  const { purge, ...table } = events.through(ask)

  const open = (tx: unknown, opening: Opening | undefined, maxRunMs: number | undefined) => {
    const runMs = maxRunMs === undefined ? 0 : Math.ceil(maxRunMs) + ROLLBACK_MARGIN_MS
    return events.open((...statement) => driver.first(tx, ...statement), opening, [checked.idleMs, runMs])
  }

  const transact: InboxBackend<Tx>['transact'] = async (run) => {
    const { opening } = run
    try {
      const { answer } = await driver.transaction(
        async (tx, handed) => {
          const { verdict, id } = await open(tx, opening, run.maxRunMs)
          const answer = opening === undefined ? PLAIN : openAnswer(verdict, opening.name === 'openReplay')
          if (answer.status === 'opened') await run.work(handed, answer.attempt)
          return { answer, id }
        },
        ({ answer, id }) => (answer.status === 'opened' ? id : null),
      )
      return answer
    } catch (error) {
      throw run.thrown === undefined ? events[ERRORS[run.phase]](error) : run.thrown.error
    }
  }

  return sqlInbox<Tx>(
    {
      table: inBursts(table, (error) => isOfOneRow((error as Error).cause)),
      transact,
      newest,
      purge,
      check: () =>
        tryOut(driver, async (ask, tx) => {
          await events.checkColumns(ask)
          const values = { key: keyOfCheck(), token: 'check', retain_ms: 1_000 }
          const { verdict } = await open(tx, { name: 'open', values }, undefined)
          requireRow(verdict?.isOwn === true, events.name)
        }).catch((error) => {
          throw events.unavailable(error)
        }),
      async migrate() {
        await events.migrate(driver)
        await newest.migrate(driver)
      },
      ddl: `${events.ddl}\n${newest.ddl}`,
      // Of a Pool of pg or postgres.js: a driver of the user's may have any number.
      connections: sharedConnections(pool, (pool as { options?: { max?: unknown } | null }).options?.max),
      hint: () => driver.hint?.(),
    },
    checked,
  )
}

const PLAIN = { status: 'opened', attempt: 1 } as const
const MIGRATE = 'inbox.migrate()'
const ERRORS = { opening: 'unavailable', running: 'interrupted', ending: 'notCommitted' } as const
