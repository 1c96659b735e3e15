import type { Change } from '../../src/index.js'
import { checkChanges } from '../sql/change.js'
import { isForbidden, isOutside } from './advice.js'
import { OUTSIDE } from './drivers/commit-check.js'
import { type CheckedDriver, type Row, unchecked } from './drivers/driver.js'
import { type Table, tableOf } from './table.js'
import type { Ask, TableLocation } from './table-location.js'

/** The table of the newest change of each subject, beside that of the records. */
export interface NewestTable extends Pick<Table, 'ddl' | 'migrate'> {
  /**
   * Records each change unless a newer one of its subject was applied before.
   *
   * @param tx the transaction of a handler
   * @returns whether each change was recorded, in the order given
   */
  record(tx: unknown, changes: readonly Change[], retainMs: number): Promise<boolean[]>
  /** Deletes up to `limit` changes that are past their retention, and returns their number. Without the rights to, it warns once. */
  purge(limit: number): Promise<number>
}

const COLUMNS = {
  subject: 'text COLLATE "C" PRIMARY KEY',
  changed_at: 'text COLLATE "C" NOT NULL',
  rank: 'bigint NOT NULL',
  expires_at: 'timestamptz NOT NULL',
}

/** @param location of the table of the records, beside which it is */
export function newestTable(
  location: TableLocation,
  driver: CheckedDriver<unknown, unknown>,
  migrate: string,
): NewestTable {
  const table = tableBeside(location, migrate)
  const recording = table.byName(recordIn)
  let hasWarned = false

  function warnOnce(): void {
    if (hasWarned) return
    hasWarned = true
    console.warn(
      `tix-webhooks: the changes of recordIfNewest past their retention are not deleted, because the user of this connection has no rights on ${table.name}: GRANT SELECT, UPDATE and DELETE on it.`,
    )
  }

  return {
    ddl: table.ddl,
    migrate: table.migrate,

    async record(tx, changes, retainMs) {
      const sorted = checkChanges(changes)
      if (sorted.length === 0) return []
      let rows: readonly Row[]
      try {
        const positioned = sorted.map((change, position) => ({ ...change, position }))
        rows = await driver.queryHanded(tx, recording(), [JSON.stringify(positioned), retainMs])
      } catch (error) {
        // A TypeError is not the server's: it is no transaction of this library.
        throw isOutside(error) || error instanceof TypeError
          ? notInTransaction(error)
          : table.unavailable(error)
      }
      // By position, because clients can rename columns, and change text, such as the subjects.
      const results = rows.map((row) => Object.values(row)[0])
      if (results.length !== sorted.length || results.some((result) => typeof result !== 'boolean')) {
        throw table.unexpectedRows()
      }
      const newest = new Map(sorted.map(({ subject }, position) => [subject, results[position] === true]))
      return changes.map(({ subject }) => newest.get(subject) === true)
    },

    async purge(limit) {
      let isEmpty = true
      try {
        const purged = await driver.transaction(async (tx) => {
          const ask: Ask = (sql, parameters) => driver.query(tx, sql, parameters)
          const [row] = await ask(SIZE, [table.name])
          const [isFound, isUsed] = Object.values(row ?? {})
          if (typeof isFound !== 'boolean' || typeof isUsed !== 'boolean') throw table.unexpectedRows()
          isEmpty = !isUsed
          // A version before this table has migrated the database.
          return isFound ? table.purge(ask, limit) : 0
        }, unchecked)
        hasWarned = false
        return purged
      } catch (error) {
        // An app that does not use recordIfNewest needs no rights on its table.
        if (!isForbidden(error)) throw table.unavailable(error)
        if (!isEmpty) warnOnce()
        return 0
      }
    },
  }
}

/** A table without rights can still be measured. That of a table with partitions is theirs. */
const SIZE = `
  SELECT to_regclass($1::text) IS NOT NULL AS found,
    coalesce((SELECT relkind = 'p' OR pg_relation_size(oid) > 0 FROM pg_class WHERE oid = to_regclass($1::text)), false) AS used`

/**
 * One boolean for each change, in their order. JSON, because clients differ in how they pass lists. It waits for another transaction that
 * has written the same subject, and then compares with what that one left. It writes the subjects in the order in which they are given.
 */
function recordIn(table: string): string {
  return `
    WITH change AS MATERIALIZED (
      SELECT position, subject, at, rank
      FROM jsonb_to_recordset($1::text::jsonb) AS change (position integer, subject text COLLATE "C", at text, rank bigint)
      WHERE (CASE WHEN txid_current_if_assigned() IS NULL THEN '${OUTSIDE}' ELSE '1' END)::integer = 1
    ), recorded AS (
      INSERT INTO ${table} AS stored (subject, changed_at, rank, expires_at)
      SELECT subject, at, rank, now() + $2::float8 * interval '1 ms' FROM change ORDER BY position
      ON CONFLICT (subject) DO UPDATE SET
        changed_at = excluded.changed_at,
        rank = excluded.rank,
        expires_at = greatest(stored.expires_at, excluded.expires_at)
      WHERE (stored.changed_at, stored.rank) <= (excluded.changed_at, excluded.rank)
      RETURNING subject
    )
    SELECT subject IN (SELECT recorded.subject FROM recorded) AS newest FROM change ORDER BY position`
}

/** The SQL of the table. */
export function newestDdl(location: TableLocation): string {
  return tableBeside(location, '').ddl
}

function tableBeside(location: TableLocation, migrate: string): Table {
  return tableOf({
    location,
    suffix: '_newest',
    columns: COLUMNS,
    // Short enough that Postgres does not truncate it after the longest name of a table.
    indexSuffix: 'expires',
    migrate,
  })
}

function notInTransaction(cause: unknown): TypeError {
  return new TypeError(
    'recordIfNewest was not called in the transaction of the inbox, so nothing of it is kept: pass ctx.tx itself, or the transaction of a savepoint in it.',
    { cause },
  )
}
