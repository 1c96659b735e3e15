import type { OnceRequest } from '../../src/index.js'
import { ROLLBACK_MARGIN_MS } from '../../src/internal.js'
import type { CheckedDriver } from './drivers/driver.js'
import type { Table } from './table.js'

/** The state of a transaction that was opened for a handler; the server's id of it, to ask after a lost COMMIT. */
export type Opening = { status: 'opened'; id: string } | { status: 'duplicate' | 'in_flight' }

/** Returns the function that opens the transaction of a handler: it sets its limits, and records the event if it has a key. */
export function opener(
  driver: Pick<CheckedDriver<unknown>, 'first'>,
  table: Table,
  idleMs: number,
): (tx: unknown, request: OnceRequest) => Promise<Opening> {
  const statements = table.byName(statementsFor)

  return async function open(tx, { key, retainMs, maxRunMs }) {
    // Also without a key: isNewest may follow, when the handler has changed the search_path.
    await table.find((text, parameters) => driver.first(tx, text, parameters))
    const sql = statements()
    const limits = [`${idleMs}`, maxRunMs === undefined ? '0' : `${Math.ceil(maxRunMs) + ROLLBACK_MARGIN_MS}`]
    const [row] =
      key === null
        ? await driver.first(tx, sql.open, limits)
        : await driver.first(tx, sql.record, [key, retainMs, ...limits])
    // By position, because clients can rename columns. Ours are single words: one that is renamed may also move to the end.
    const [isLocked, isNew, id] = Object.values(row ?? {})
    if (typeof isLocked !== 'boolean' || typeof isNew !== 'boolean') throw table.misread()
    if (!isLocked) return { status: 'in_flight' }
    if (!isNew) return { status: 'duplicate' }
    // A client may turn text that is a number into one.
    if (!/^\d+$/.test(String(id))) throw table.misread()
    return { status: 'opened', id: String(id) }
  }
}

function statementsFor(table: string): Record<'open' | 'record', string> {
  // A limit of the server's own wins.
  const limit = (name: string, parameter: string): string =>
    `set_config('${name}', CASE current_setting('${name}') WHEN '0' THEN ${parameter} ELSE current_setting('${name}') END, true)`
  const limits = (idle: string, run: string): string => `
    ${limit('idle_in_transaction_session_timeout', idle)},
    CASE WHEN current_setting('server_version_num')::int >= 170000
      THEN ${limit('transaction_timeout', run)}
      ELSE ${limit('statement_timeout', run)}
    END`
  return {
    open: `SELECT true AS locked, true AS fresh, txid_current()::text AS id, ${limits('$1', '$2')}`,
    // Without the lock, a second delivery would wait for the row of the first, and hold a connection and a socket. The lock ends
    // with the transaction or its connection, so there is no lease, no renewal and no clock.
    record: `
      WITH lock AS MATERIALIZED (
        SELECT ${lockOf(table, '$1::text')} AS locked
      ), recorded AS (
        INSERT INTO ${table} AS stored (key, expires_at)
        SELECT $1::text, now() + $2::float8 * interval '1 ms' FROM lock WHERE locked
        ON CONFLICT (key) DO UPDATE SET handled_at = now(), expires_at = excluded.expires_at
        WHERE stored.expires_at <= now()
        RETURNING 1
      )
      SELECT locked, fresh, CASE WHEN fresh THEN txid_current()::text END AS id, ${limits('$3', '$4')}
      FROM lock, (SELECT EXISTS (SELECT FROM recorded) AS fresh) AS outcome`,
  }
}

/**
 * SQL that is true if the transaction has the lock of the event now. It is of the table's oid, because two schemas can have tables of one
 * name. If two keys have one hash, one is merely in flight while the other runs.
 */
export function lockOf(table: string, key: string): string {
  return `pg_try_advisory_xact_lock(hashtextextended(${key}, '${table.replaceAll("'", "''")}'::regclass::oid::bigint))`
}
