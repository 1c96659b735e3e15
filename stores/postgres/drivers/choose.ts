import { isDriver, notAPool } from '../../sql/not-a-pool.js'
import type { Ask, CheckedDriver, PostgresDriver } from './driver.js'
import { isPgPool, type PgPool, pgDriver, pgQuery } from './pg.js'
import { isPostgresJs, type PostgresJs, postgresJsDriver, postgresJsQuery } from './postgres-js.js'
import { twoMethodDriver } from './user-driver.js'

/** The transaction that handlers get: a `PoolClient` of `pg`, or the `sql` of a postgres.js transaction. */
export type TransactionOf<Pool> = Pool extends {
  begin: { (work: (tx: infer Tx) => unknown): unknown; (options: string, work: never): unknown }
}
  ? Tx
  : Pool extends { connect: { (): Promise<infer Client>; (callback: never): unknown } }
    ? Client
    : Pool extends { connect(): Promise<infer Client> }
      ? Client
      : never

/** @throws TypeError when it is not a pool */
export function queryOf(pool: PgPool | PostgresJs): Ask {
  if (isPostgresJs(pool)) return postgresJsQuery(pool)
  if (isPgPool(pool)) return pgQuery(pool)
  throw notAPool(pool, A_POOL)
}

/**
 * @param as makes of a client of pg the transaction that handlers get
 * @throws TypeError when it is neither a pool nor a driver
 */
export function driverOf<Tx>(
  pool: PgPool | PostgresJs | PostgresDriver<Tx>,
  as?: (client: never) => Tx,
): CheckedDriver<unknown, Tx> {
  if (isPgPool(pool)) return pgDriver(pool, as as () => Tx) as CheckedDriver<unknown, Tx>
  if (as !== undefined && !isPgPool(pool)) {
    throw new TypeError(
      'as converts a client of pg: use it with a Pool of pg. A driver itself decides what it passes to handlers.',
    )
  }
  if (isPostgresJs(pool)) return postgresJsDriver(pool) as CheckedDriver<unknown, unknown> as never
  if (isDriver(pool)) return twoMethodDriver(pool) as CheckedDriver<unknown, Tx>
  throw notAPool(pool, A_POOL)
}

const A_POOL = 'a Pool of pg, or the sql of postgres.js'
