import { isDriver, notAPool } from '../../sql/not-a-pool.js'
import type { MysqlConnection, MysqlPool } from './connection.js'
import type { CheckedDriver, MysqlDriver } from './driver.js'
import { isMysqlPool, poolDriver } from './pool.js'
import { twoMethodDriver } from './user-driver.js'

/** The transaction that handlers get: a `PoolConnection` of mysql2 or of mariadb. */
export type TransactionOf<Pool> = Pool extends { getConnection(): Promise<infer Connection> }
  ? Connection
  : never

/** @throws TypeError when it is not a pool */
export function poolOf(pool: MysqlPool): CheckedDriver<MysqlConnection, unknown> {
  if (isMysqlPool(pool)) return poolDriver(pool)
  throw notAPool(pool, A_POOL)
}

/**
 * @param as makes of a connection the transaction that handlers get
 * @throws TypeError when it is neither a pool nor a driver
 */
export function driverOf<Tx>(
  pool: MysqlPool | MysqlDriver<Tx>,
  as?: (connection: never) => Tx,
): CheckedDriver<unknown, Tx> {
  if (isMysqlPool(pool)) return poolDriver(pool, as as () => Tx) as CheckedDriver<unknown, Tx>
  if (!isDriver(pool)) throw notAPool(pool, A_POOL)
  if (as === undefined) return twoMethodDriver(pool) as CheckedDriver<unknown, Tx>
  throw new TypeError(
    'as converts a connection of a pool: use it with one of mysql2 or mariadb. A driver itself decides what it passes to handlers.',
  )
}

const A_POOL = 'a pool of mysql2/promise or of mariadb'
