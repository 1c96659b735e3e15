import type { NewestChanges } from '../sql/inbox.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { isForbidden, isMissing, isOutside } from './advice.js'
import { type CheckedDriver, unchecked } from './drivers/driver.js'
import { OUTSIDE } from './drivers/ending.js'
import { type Table, tableOf } from './table.js'
import type { TableLocation } from './table-location.js'

const COLUMNS = {
  subject: 'text COLLATE "C" PRIMARY KEY',
  changed_at: 'text COLLATE "C" NOT NULL',
  rank: 'bigint NOT NULL',
  expires_at: 'bigint NOT NULL',
}
const NOW = "(date_part('epoch', now()) * 1000)::bigint"

/** @param location of the table of the events, beside which it is */
export function newestTable<Tx>(
  location: TableLocation,
  driver: CheckedDriver<unknown, Tx>,
  migrate: string,
): NewestChanges<Tx> & Pick<Table, 'ddl' | 'migrate'> {
  // The end of the index's name is short enough that Postgres does not truncate it after the longest name of a table.
  const table = tableOf({
    location,
    suffix: '_newest',
    columns: COLUMNS,
    indexes: { expires: '(expires_at)' },
    migrate,
  })

  return {
    get name() {
      return table.name
    },
    ddl: table.ddl,
    migrate: table.migrate,

    async record(tx, changes, retainMs) {
      const positioned = changes.map((change, position) => ({ ...change, position }))
      const parameters = [JSON.stringify(positioned), String(Math.ceil(retainMs))]
      const rows = await driver.queryHanded(tx, recordIn(table.name), parameters).catch((error) => {
        // A TypeError is not the server's: it is no transaction of this library.
        throw isOutside(error)
          ? new TypeError('Not in the transaction of the inbox.', { cause: error })
          : error instanceof TypeError
            ? error
            : table.unavailable(error)
      })
      // By position, because clients can rename columns, and change text, such as the subjects.
      const results = rows.map((row) => Object.values(row)[0])
      if (results.some((result) => typeof result !== 'boolean')) throw unexpectedRows()
      return results as boolean[]
    },

    async purge(limit) {
      try {
        return await driver.transaction(async (tx) => {
          await table.find((...statement) => driver.query(tx, ...statement))
          return (await driver.query(tx, purgeIn(table.name), [String(limit)])).length
        }, unchecked)
      } catch (error) {
        // A version before this table has migrated the database.
        if (isMissing(error)) return 0
        // An app that does not use recordIfNewest needs no rights on its table.
        if (isForbidden(error)) return 'forbidden'
        throw table.unavailable(error)
      }
    },
  }
}

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
      SELECT subject, at, rank, ${NOW} + $2::text::bigint FROM change ORDER BY position
      ON CONFLICT (subject) DO UPDATE SET
        changed_at = excluded.changed_at,
        rank = excluded.rank,
        expires_at = greatest(stored.expires_at, excluded.expires_at)
      WHERE (stored.changed_at, stored.rank) <= (excluded.changed_at, excluded.rank)
      RETURNING subject
    )
    SELECT subject IN (SELECT recorded.subject FROM recorded) AS newest FROM change ORDER BY position`
}

function purgeIn(table: string): string {
  return `
    DELETE FROM ${table} WHERE subject IN (
      SELECT subject FROM ${table} WHERE expires_at <= ${NOW} ORDER BY expires_at LIMIT $1::text::bigint FOR UPDATE SKIP LOCKED
    ) RETURNING 1`
}
