import type { Change } from '../../src/index.js'
import { checkChanges } from '../../src/store-kit.js'
import { isOutside } from './advice.js'
import { OUTSIDE } from './drivers/commit-check.js'
import type { CheckedDriver } from './drivers/driver.js'
import { type Table, tableOf } from './table.js'

/** The table of the newest change of each subject, beside that of the records. */
export interface NewestTable extends Pick<Table, 'schema' | 'migrate'> {
  /**
   * Records each change unless a newer one of its subject was applied before.
   *
   * @param tx the transaction of a handler
   * @returns whether each change was recorded, in the order given
   */
  record(tx: unknown, changes: readonly Change[], retainMs: number): Promise<boolean[]>
  /** Deletes up to `limit` records that are past their retention, and returns their number. */
  purge(tx: unknown, limit: number): Promise<number>
}

const COLUMNS = {
  subject: 'text COLLATE "C" PRIMARY KEY',
  changed_at: 'text COLLATE "C" NOT NULL',
  rank: 'bigint NOT NULL',
  expires_at: 'timestamptz NOT NULL',
}

/** @param records the name of the table of the records, as the user gave it */
export function newestTable(
  records: string,
  driver: CheckedDriver<unknown, unknown>,
  migrate: string,
): NewestTable {
  const table = tableBeside(records, migrate)

  // JSON, because clients differ in how they pass lists. It waits for another transaction that has written the same subject, and then
  // compares with what that one left. It writes the subjects in the order in which they are given.
  const record = `
    INSERT INTO ${table.name} AS stored (subject, changed_at, rank, expires_at)
    SELECT subject, at, rank, now() + $2::float8 * interval '1 ms'
    FROM jsonb_to_recordset($1::text::jsonb) AS change (subject text, at text, rank bigint)
    WHERE (CASE WHEN txid_current_if_assigned() IS NULL THEN '${OUTSIDE}' ELSE '1' END)::integer = 1
    ON CONFLICT (subject) DO UPDATE SET
      changed_at = excluded.changed_at,
      rank = excluded.rank,
      expires_at = greatest(stored.expires_at, excluded.expires_at)
    WHERE (stored.changed_at, stored.rank) <= (excluded.changed_at, excluded.rank)
    RETURNING subject`

  return {
    schema: table.schema,
    migrate: table.migrate,

    async record(tx, changes, retainMs) {
      const sorted = checkChanges(changes)
      if (sorted.length === 0) return []
      let newest: Set<unknown>
      try {
        const rows = await driver.queryHanded(tx, record, [JSON.stringify(sorted), retainMs])
        // By position, because clients can rename columns.
        newest = new Set(rows.map((row) => Object.values(row)[0]))
      } catch (error) {
        // A TypeError is not the server's: it is no transaction of this library.
        throw isOutside(error) || error instanceof TypeError
          ? notInTransaction(error)
          : table.unavailable(error)
      }
      return changes.map(({ subject }) => newest.has(subject))
    },

    async purge(tx, limit) {
      // A version before this table has migrated the database.
      const [found] = await driver.query(tx, 'SELECT to_regclass($1) IS NOT NULL AS found', [table.name])
      if (Object.values(found ?? {})[0] !== true) return 0
      try {
        return (await driver.query(tx, table.purge, [limit])).length
      } catch (error) {
        throw table.unavailable(error)
      }
    },
  }
}

/** The SQL of the table by its default name. */
export function newestSchema(records: string): string {
  return tableBeside(records, '').schema
}

function tableBeside(records: string, migrate: string): Table {
  return tableOf({
    table: records,
    suffix: '_newest',
    columns: COLUMNS,
    // Short enough that Postgres does not truncate it after the longest name of a table.
    indexSuffix: 'expires',
    migrate,
  })
}

function notInTransaction(cause: unknown): TypeError {
  return new TypeError(
    'isNewest was not called in the transaction of the inbox, so nothing of it is kept: pass ctx.tx itself, or the transaction of a savepoint in it.',
    { cause },
  )
}
