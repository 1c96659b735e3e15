import { StoreError } from '../../src/index.js'
import { notCommitted, unavailable } from './advice.js'
import type { CheckedDriver } from './drivers/driver.js'

/** A table of ours, of which the user may have chosen the name. */
export interface Table {
  /** The quoted name, as SQL has it. */
  readonly name: string
  /** The SQL that creates it. */
  readonly schema: string
  /** Deletes expired records, `$1` at most. */
  readonly purge: string
  /** Creates the table if it is missing, and refuses one that has other columns. */
  migrate(driver: CheckedDriver<unknown, unknown>): Promise<void>
  /** The store's error for one of the database or the driver. */
  unavailable(error: unknown): StoreError
  /** The error for rows without the selected values. */
  misread(): StoreError
  /** The same as `unavailable`, after the handler has returned. */
  notCommitted(error: unknown): StoreError
}

export interface TableDefinition {
  /** The user's text: a name, or a schema and a name. */
  readonly table: string
  /** Appended to that name: of a second table beside the first. Default: nothing. */
  readonly suffix?: string
  /** The columns with their types; the first one is the key. */
  readonly columns: Readonly<Record<string, string>>
  /** The column with an index that `purge` uses: an expired record is past it too. Default `expires_at`. */
  readonly purgedBy?: string
  /** The end of the name of that index. Default: the column's name. */
  readonly indexSuffix?: string
  /** The user's call that creates it. */
  readonly migrate: string
}

/** Deploys that migrate at the same time wait for each other: CREATE TABLE IF NOT EXISTS alone can fail then. */
// Cast, because Prisma cannot read a column of the type void.
const MIGRATION_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('tix-webhooks migrate', 0))::text"

/** @throws TypeError when the name is invalid */
export function tableOf({
  table,
  suffix = '',
  columns,
  purgedBy = 'expires_at',
  indexSuffix = purgedBy,
  migrate,
}: TableDefinition): Table {
  if (typeof table !== 'string' || !/^([A-Za-z_]\w{0,47}\.)?[A-Za-z_]\w{0,47}$/.test(table)) {
    throw new TypeError(
      "table must be a name of 1 to 48 letters, digits and _, such as 'webhooks', or a schema and such a name, such as 'app.webhooks'.",
    )
  }
  const name = `${table}${suffix}`.split('.').map(quote).join('.')
  const names = { name, migrate }
  const index = quote(`${table.split('.').at(-1)}${suffix}_${indexSuffix}`)
  const [key] = Object.keys(columns)
  const definitions = Object.entries(columns).map(([column, type]) => `  ${column} ${type}`)
  const statements = [
    `CREATE TABLE IF NOT EXISTS ${name} (\n${definitions.join(',\n')}\n) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
    `CREATE INDEX IF NOT EXISTS ${index} ON ${name} (${purgedBy})`,
  ]

  // The first word of a definition is its type. The key must be unique, or ON CONFLICT does not work.
  const wanted = Object.entries(columns).map(
    ([column, type], position) => `(${position}, '${column}', '${type.split(' ')[0]}')`,
  )
  const missingColumns = `
    WITH present AS (
      SELECT attname, atttypid, EXISTS (
        SELECT FROM pg_index
        WHERE indrelid = attrelid AND indisunique AND indpred IS NULL AND indkey::text = attnum::text
      ) AS is_unique
      FROM pg_attribute WHERE attrelid = to_regclass($1)
    )
    SELECT name FROM (VALUES ${wanted.join(', ')}) AS wanted (position, name, type)
    WHERE NOT EXISTS (
      SELECT FROM present
      WHERE attname = name AND atttypid = to_regtype(type) AND (is_unique OR position > 0)
    )
    ORDER BY position`

  return {
    name,
    schema: `${statements.join(';\n\n')};\n`,
    // Locked first: a plain DELETE … IN (SELECT …) that waited for a claim would delete the claimed record.
    purge: `
      WITH expired AS (
        SELECT ${key} FROM ${name} WHERE ${purgedBy} <= now() AND expires_at <= now()
        ORDER BY ${purgedBy} LIMIT $1 FOR UPDATE SKIP LOCKED
      )
      DELETE FROM ${name} AS stored USING expired WHERE stored.${key} = expired.${key} RETURNING 1`,
    unavailable: (error) => unavailable(error, names),
    misread: () =>
      new StoreError(
        'store_misbehaved',
        'The client returned rows without the selected values: does a type parser or a plugin of it change booleans?',
      ),
    notCommitted: (error) => notCommitted(error, names),
    async migrate(driver) {
      try {
        await driver.transaction(async (tx) => {
          // At a higher level the snapshot would be older than a table that another deploy has just created.
          await driver.query(tx, 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED', [])
          await driver.query(tx, MIGRATION_LOCK, [])
          const [found] = await driver.query(tx, 'SELECT to_regclass($1) IS NOT NULL AS found', [name])
          if (Object.values(found ?? {})[0] !== true) {
            for (const statement of statements) await driver.query(tx, statement, [])
          }
          const missing = (await driver.query(tx, missingColumns, [name])).map((row) => Object.values(row)[0])
          if (missing.length > 0) throw otherTable(missing)
        })
      } catch (error) {
        throw unavailable(error, names)
      }
    },
  }

  function otherTable(missing: readonly unknown[]): StoreError {
    return new StoreError(
      'store_unavailable',
      `There is a table ${name} in which these columns are missing or of another kind: ${missing.join(', ')}. It was created by another version or another program. Rename it, or choose another name with the table option; its records are not carried over.`,
    )
  }
}

function quote(name: string): string {
  return `"${name}"`
}
