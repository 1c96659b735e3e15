import type { ClaimResult, Purgeable, RemoteStore } from '../../src/index.js'
import { checkedFor, checkedStore, checkOptionNames, createPurger } from '../../src/internal.js'
import { driverOf, queryOf } from './drivers/choose.js'
import type { StatementResult } from './drivers/driver.js'
import type { PgPool } from './drivers/pg.js'
import type { PostgresJs } from './drivers/postgres-js.js'
import { type Ask, placeIn, placeOf } from './place.js'
import { tableOf } from './table.js'

export interface PostgresStoreOptions {
  /** Its table: a name, or a schema and a name. Default `tix_webhooks`, in the schema in which the first statement finds it. */
  table?: string | undefined
  /** Purges in the background, every so many seconds, from the first claim on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
}

/** An idempotency store in a table. */
export interface PostgresStore extends RemoteStore, Purgeable {
  /** Creates the table if it is missing. For your deploy; several may run at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

const COLUMNS = {
  key: 'text COLLATE "C" PRIMARY KEY',
  // 'running', 'completed' or 'released'. Without a CHECK: Postgres reads it again for each statement, at a tenth of its cost.
  state: 'text NOT NULL',
  attempt: 'integer NOT NULL',
  token: 'text NOT NULL',
  lease_until: 'timestamptz NOT NULL',
  expires_at: 'timestamptz NOT NULL',
  // The end of the retention that the claim asked for. The index is on it, not on expires_at, because a completion does not
  // change it: Postgres then writes the new row in place (HOT), with no entry in an index and none to vacuum.
  purge_after: 'timestamptz NOT NULL',
}

/**
 * Remembers handled events in a table of Postgres 12 or newer, for all processes that share it, by the clock of the server.
 * It does not forget by itself: see `purge` and `purgeEverySeconds`.
 *
 * @param pool a `Pool` of pg, or the `sql` of postgres.js
 * @throws TypeError when it is something else, such as a `Client` of pg, or an option is invalid
 * @example
 * ```ts
 * const store = postgresStore(new Pool({ connectionString: process.env.DATABASE_URL }), { purgeEverySeconds: 300 })
 * await store.migrate() // when you deploy
 * tixWebhooks({ secret, on, store, namespace: 'orders' })
 * ```
 */
export function postgresStore(pool: PgPool | PostgresJs, options: PostgresStoreOptions = {}): PostgresStore {
  return checkedFor(postgresStore, () => createStore(pool, options))
}

function createStore(pool: PgPool | PostgresJs, options: PostgresStoreOptions): PostgresStore {
  options = checkOptionNames(options, ['table', 'purgeEverySeconds'])
  const send = queryOf(pool)
  const table = tableOf({
    place: placeIn(pool, options.table ?? TABLE),
    columns: COLUMNS,
    purgedBy: 'purge_after',
    migrate: 'store.migrate()',
  })
  const sql = table.byName(statementsFor)
  const ask: Ask = async (statement, parameters) => (await send(statement, parameters)).rows
  const { start, purge } = createPurger(
    (limit) => withAdvice(() => table.purge(ask, limit)),
    options.purgeEverySeconds,
  )

  async function withAdvice<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw table.unavailable(error)
    }
  }

  function query(name: keyof Statements, ...parameters: unknown[]): Promise<StatementResult> {
    return withAdvice(async () => {
      await table.find(ask)
      return send(sql()[name], parameters)
    })
  }

  /** It reads no text, which a client may be set to change. */
  function readClaim({ rows }: StatementResult): ClaimResult {
    // By position, because clients can rename columns.
    const [isOurs, isCompleted, isReleased, attempt, leftMs] = Object.values(rows[0] ?? {})
    if ([isOurs, isCompleted, isReleased].some((value) => typeof value !== 'boolean')) throw table.misread()
    if (isOurs) return { status: 'claimed', attempt: numberIn(attempt) }
    if (isCompleted) return { status: 'completed' }
    // Released by the token of this claim: nothing runs.
    return { status: 'in_flight', retryAfterMs: isReleased ? 1 : Math.max(1, numberIn(leftMs)) }
  }

  /** Clients can be set to return numbers as text. */
  function numberIn(value: unknown): number {
    const number = value === null || value === '' ? Number.NaN : Number(value)
    if (!Number.isFinite(number)) throw table.misread()
    return number
  }

  /** Whether a row was changed, by the count: a returned row would make the statement a tenth more expensive. */
  function hasChanged({ count }: StatementResult): boolean {
    if (typeof count !== 'number') throw table.misread()
    return count === 1
  }

  return checkedStore<PostgresStore>({
    async claim(request) {
      start()
      const { key, token, leaseMs, retainMs } = request
      return readClaim(await query('claim', key, token, leaseMs, retainMs))
    },

    async renew(lease, leaseMs) {
      return hasChanged(await query('renew', lease.key, lease.token, leaseMs))
    },

    async complete(lease, retainMs) {
      return hasChanged(await query('complete', lease.key, lease.token, retainMs))
    },

    async release(lease) {
      return hasChanged(await query('release', lease.key, lease.token))
    },

    purge,
    migrate: () => table.migrate(driverOf(pool)),
    ddl: table.ddl,
  })
}

const TABLE = 'tix_webhooks'

/** The SQL that creates the table, by its default name. */
export const storeDdl: string = tableOf({
  place: placeOf(TABLE),
  columns: COLUMNS,
  purgedBy: 'purge_after',
  migrate: '',
}).ddl

type Statements = Record<'claim' | 'renew' | 'complete' | 'release', string>

/**
 * Each is one statement, atomic by itself. They use now(), not clock_timestamp(): a condition that is evaluated several times must
 * give the same result each time.
 */
function statementsFor(table: string): Statements {
  const inMs = (parameter: string): string => `now() + ${parameter}::float8 * interval '1 ms'`
  const isHolders = 'key = $1 AND token = $2 AND expires_at > now()'
  const isFree = `(
      stored.expires_at <= now()
      OR stored.state = 'running' AND (stored.token = excluded.token OR stored.lease_until <= now())
      OR stored.state = 'released' AND stored.token <> excluded.token
    )`
  return {
    // It always updates, so that it always returns a row: DO UPDATE … WHERE returns none for a record of another holder, and a
    // second statement that reads that record would be a race.
    claim: `
      INSERT INTO ${table} AS stored (key, state, attempt, token, lease_until, expires_at, purge_after)
      VALUES ($1, 'running', 1, $2, ${inMs('$3')}, ${inMs('$4')}, ${inMs('$4')})
      ON CONFLICT (key) DO UPDATE SET (state, attempt, token, lease_until, expires_at, purge_after) = (
        SELECT
          'running',
          CASE
            WHEN stored.expires_at <= now() THEN 1
            WHEN stored.token = excluded.token THEN stored.attempt
            ELSE stored.attempt + 1
          END,
          excluded.token, excluded.lease_until, excluded.expires_at, excluded.purge_after
        WHERE ${isFree}
        UNION ALL
        SELECT stored.state, stored.attempt, stored.token, stored.lease_until, stored.expires_at, stored.purge_after
        WHERE NOT ${isFree}
      )
      RETURNING
        state = 'running' AND token = $2 AS ours,
        state = 'completed' AS completed,
        state = 'released' AS released,
        attempt,
        -- The clock: this statement may have waited for another one since now().
        date_part('epoch', lease_until - clock_timestamp()) * 1000 AS remaining`,
    renew: `
      UPDATE ${table} SET lease_until = ${inMs('$3')}
      WHERE ${isHolders} AND state = 'running'`,
    // An absent record is written: its event was handled.
    complete: `
      INSERT INTO ${table} AS stored (key, state, attempt, token, lease_until, expires_at, purge_after)
      VALUES ($1, 'completed', 1, $2, now(), ${inMs('$3')}, ${inMs('$3')})
      ON CONFLICT (key) DO UPDATE SET
        state = 'completed',
        token = excluded.token,
        expires_at = excluded.expires_at,
        purge_after = CASE WHEN stored.expires_at <= now() THEN excluded.purge_after ELSE stored.purge_after END
      WHERE
        stored.expires_at <= now()
        OR stored.token = excluded.token AND stored.state IN ('running', 'completed')`,
    release: `
      UPDATE ${table} SET state = 'released'
      WHERE ${isHolders} AND state IN ('running', 'released')`,
  }
}
