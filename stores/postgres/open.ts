import type { JoinedRequest, OnceRequest } from '../../src/index.js'
import { ROLLBACK_MARGIN_MS } from '../../src/internal.js'
import type { CheckedDriver } from './drivers/driver.js'
import type { Table } from './table.js'
import type { Ask } from './table-location.js'

/** The state of a transaction that was opened for a handler; the server's id of it, to ask after a lost COMMIT. */
export type Opening =
  | { status: 'opened'; id: string }
  /** `unrecorded`: no record was written, and none was there when the statement began. */
  | { status: 'duplicate' | 'in_flight' | 'unrecorded' }
  /** Only with failures. */
  | { status: 'parked' }

/** Opens the transaction of a handler. */
export type Open = (tx: unknown, request: OnceRequest | JoinedRequest) => Promise<Opening>

/**
 * Returns the function that opens the transaction of a handler: it sets its limits, and records the event if it has a key. With failures it
 * does neither if that of the request is parked.
 */
export function opener(
  driver: Pick<CheckedDriver<unknown>, 'first'>,
  table: Table,
  idleMs: number,
  failures?: Table,
): Open {
  let made: { names: string; statements: Statements } | undefined

  /** Made again if a schema has been found since. */
  function statements(): Statements {
    const names = `${table.name} ${failures?.name}`
    if (made?.names !== names) made = { names, statements: statementsFor(table.name, failures?.name) }
    return made.statements
  }

  return async function open(tx, request) {
    const { key, retainMs, maxRunMs } = request
    const ask: Ask = (text, parameters) => driver.first(tx, text, parameters)
    // An event without a key needs it too: the handler may change the search_path before it calls recordIfNewest.
    await table.find(ask)
    await failures?.find(ask)
    const sql = statements()
    const limits = [`${idleMs}`, maxRunMs === undefined ? '0' : `${Math.ceil(maxRunMs) + ROLLBACK_MARGIN_MS}`]
    // No failure has an empty key.
    const parkedKey =
      failures !== undefined && 'failureKey' in request ? [request.runsParked ? '' : request.failureKey] : []
    const [row] =
      key === null
        ? await ask(sql.open, [...limits, ...parkedKey])
        : await ask(sql.record, [key, retainMs, ...limits, ...parkedKey])
    // By position, because clients can rename columns. Ours are single words: one that is renamed may also move to the end.
    const [isLocked, isNew, isFound, id, isParked] = Object.values(row ?? {})
    if ([isLocked, isNew, isFound].some((value) => typeof value !== 'boolean')) throw table.unexpectedRows()
    if (!isLocked) return { status: 'in_flight' }
    if (failures !== undefined) {
      if (typeof isParked !== 'boolean') throw table.unexpectedRows()
      if (isParked) return { status: 'parked' }
    }
    if (!isNew) return { status: isFound ? 'duplicate' : 'unrecorded' }
    // A client may turn text that is a number into one.
    if (!/^\d+$/.test(String(id))) throw table.unexpectedRows()
    return { status: 'opened', id: String(id) }
  }
}

type Statements = Readonly<Record<'open' | 'record', string>>

function statementsFor(table: string, failures: string | undefined): Statements {
  const limits = (idle: string, run: string): string => `
    ${limit('idle_in_transaction_session_timeout', idle)},
    CASE WHEN current_setting('server_version_num')::int >= 170000
      THEN ${limit('transaction_timeout', run)}
      ELSE ${limit('statement_timeout', run)}
    END`
  const isParked = (key: string): string =>
    `EXISTS (SELECT FROM ${failures} AS failure WHERE failure.key = ${key}::text AND failure.state = 'parked') AS parked`
  // Empty without failures: an inbox then sends nothing that concerns them.
  const parked =
    failures === undefined
      ? { open: '', cte: '', column: '', from: '', unless: '' }
      : {
          open: `${isParked('$3')}, `,
          cte: `parking AS MATERIALIZED (SELECT ${isParked('$5')}), `,
          column: 'parked, ',
          from: ', parking',
          unless: ' AND NOT parked',
        }
  return {
    open: `SELECT true AS locked, true AS fresh, false AS found, txid_current()::text AS id, ${parked.open}${limits('$1', '$2')}`,
    // Without the lock, a second delivery would wait for the row of the first, and hold a connection and a socket. The lock ends
    // with the transaction or its connection, so there is no lease, no renewal and no clock.
    record: `
      WITH lock AS MATERIALIZED (
        SELECT ${lockOf(table, '$1::text')} AS locked
      ), ${parked.cte}recorded AS (
        INSERT INTO ${table} AS stored (key, expires_at)
        SELECT $1::text, now() + $2::float8 * interval '1 ms' FROM lock${parked.from} WHERE locked${parked.unless}
        ON CONFLICT (key) DO UPDATE SET handled_at = now(), expires_at = excluded.expires_at
        WHERE stored.expires_at <= now()
        RETURNING 1
      )
      SELECT
        locked, fresh,
        CASE WHEN fresh THEN false ELSE EXISTS (${liveRecord(table)}) END AS found,
        CASE WHEN fresh THEN txid_current()::text END AS id,
        ${parked.column}${limits('$3', '$4')}
      FROM lock${parked.from}, (SELECT EXISTS (SELECT FROM recorded) AS fresh) AS outcome`,
  }
}

/** SQL that returns a row if the event of the key `$1` has been handled. */
export function liveRecord(table: string): string {
  return `SELECT true AS found FROM ${table} WHERE key = $1::text AND expires_at > now()`
}

/** SQL that limits a time of the transaction, in milliseconds. A limit of the server's own wins. */
export function limit(name: string, ms: string): string {
  return `set_config('${name}', CASE current_setting('${name}') WHEN '0' THEN ${ms} ELSE current_setting('${name}') END, true)`
}

/**
 * SQL that is true if the transaction has the lock of the event now. It is of the table's oid, because two schemas can have tables of one
 * name. If two keys have one hash, one is merely in flight while the other runs.
 */
export function lockOf(table: string, key: string): string {
  return `pg_try_advisory_xact_lock(hashtextextended(${key}, '${table.replaceAll("'", "''")}'::regclass::oid::bigint))`
}
