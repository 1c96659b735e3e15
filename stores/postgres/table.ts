import { StoreError, type WebhookError } from '../../src/index.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { interrupted, isMissing, notCommitted, unavailable } from './advice.js'
import type { CheckedDriver, Row } from './drivers/driver.js'
import { type Ask, quote, type TableLocation } from './table-location.js'

/** A table of ours, of which the user may have chosen the name. */
export interface Table {
  /** The quoted name, as SQL has it: with its schema once that is known. */
  readonly name: string
  /** The name alone. */
  readonly table: string
  /** To be called before a statement that uses the table, on the same connection. */
  readonly find: TableLocation['find']
  /** Text made from the name: made again if the schema has been found since. */
  byName<T>(make: (name: string) => T): () => T
  /** The SQL that creates it. */
  readonly ddl: string
  /** Deletes expired records, `limit` at most, and returns their number. */
  purge(ask: Ask, limit: number): Promise<number>
  /** Writes no row, where no transaction can undo one. Rejects if there is no such table or column, without rights, and if it is read-only. */
  check(ask: Ask): Promise<void>
  /** Creates the table if it is missing, and refuses one that has other columns. */
  migrate(driver: CheckedDriver<unknown, unknown>): Promise<void>
  /** The store's error for one of the database or the driver. */
  unavailable(error: unknown): WebhookError
  /** The error for rows without the selected values. */
  unexpectedRows(): StoreError
  /** The same as `unavailable`, while the handler has the transaction. */
  interrupted(error: unknown): StoreError
  /** The same after the handler has returned. */
  notCommitted(error: unknown): StoreError
}

export interface TableDefinition {
  readonly location: TableLocation
  /** Appended to its name: of a second table beside the first. Default: nothing. */
  readonly suffix?: string
  /** The columns with their types; the first one is the key. */
  readonly columns: Readonly<Record<string, string>>
  /** The column with an index that `purge` uses: an expired record is past it too. Default `expires_at`. */
  readonly purgedBy?: string
  /** The end of the name of that index. Default: the column's name. */
  readonly indexSuffix?: string
  /** Other indexes instead of that one, for a table that is purged otherwise: the end of each name, and what follows ON and the table. */
  readonly indexes?: Readonly<Record<string, string>>
  /** The user's call that creates it. */
  readonly migrate: string
}

/** Deploys that migrate at the same time wait for each other: CREATE TABLE IF NOT EXISTS alone can fail then. */
// Cast, because Prisma cannot read a column of the type void.
const MIGRATION_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('tix-webhooks migrate', 0))::text"

export function tableOf({
  location,
  suffix = '',
  columns,
  purgedBy = 'expires_at',
  indexSuffix = purgedBy,
  indexes = { [indexSuffix]: `(${purgedBy})` },
  migrate,
}: TableDefinition): Table {
  const plainName = `${location.table}${suffix}`
  const nameNow = (): string => `${location.schema}${quote(plainName)}`
  const names = {
    get name() {
      return nameNow()
    },
    migrate,
  }
  const [key] = Object.keys(columns)
  const definitions = Object.entries(columns).map(([column, type]) => `  ${column} ${type}`)
  const creating = (name: string): string[] => [
    `CREATE TABLE IF NOT EXISTS ${name} (\n${definitions.join(',\n')}\n) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
    ...Object.entries(indexes).map(
      ([suffix, on]) => `CREATE INDEX IF NOT EXISTS ${quote(`${plainName}_${suffix}`)} ON ${name} ${on}`,
    ),
  ]
  // Locked first: a plain DELETE … IN (SELECT …) that waited for a claim would delete the claimed record.
  const purging = byName(
    (name) => `
      WITH expired AS (
        SELECT ${key} FROM ${name} WHERE ${purgedBy} <= now() AND expires_at <= now()
        ORDER BY ${purgedBy} LIMIT $1 FOR UPDATE SKIP LOCKED
      )
      DELETE FROM ${name} AS stored USING expired WHERE stored.${key} = expired.${key} RETURNING 1`,
  )

  const list = Object.keys(columns).join(', ')
  const updates = Object.keys(columns)
    .slice(1)
    .map((column) => `${column} = excluded.${column}`)
  // A write of no row: the server then checks all that a write needs. With a parameter, because EXECUTE takes no empty list.
  const checking = byName(
    (name) => `
      INSERT INTO ${name} (${list}) SELECT ${list} FROM ${name} LIMIT $1
      ON CONFLICT (${key}) DO UPDATE SET ${updates.join(', ')}`,
  )

  // The first word of a definition is its type. The key must be unique, or ON CONFLICT does not work.
  const wanted = Object.entries(columns).map(
    ([column, type], position) => `(${position}, '${column}', '${type.split(' ')[0]}')`,
  )
  const missingColumns = `
    WITH present AS (
      SELECT attname, atttypid, EXISTS (
        SELECT FROM pg_index
        WHERE indrelid = attrelid AND indisunique AND indisvalid AND indpred IS NULL AND indkey::text = attnum::text
      ) AS is_unique
      FROM pg_attribute WHERE attrelid = to_regclass($1)
    )
    SELECT name FROM (VALUES ${wanted.join(', ')}) AS wanted (position, name, type)
    WHERE NOT EXISTS (
      SELECT FROM present
      WHERE attname = name AND atttypid = to_regtype(type) AND (is_unique OR position > 0)
    )
    ORDER BY position`

  function byName<T>(make: (name: string) => T): () => T {
    let made: { name: string; value: T } | undefined
    return () => {
      const name = nameNow()
      if (made?.name !== name) made = { name, value: make(name) }
      return made.value
    }
  }

  return {
    get name() {
      return nameNow()
    },
    table: plainName,
    find: location.find,
    byName,
    ddl: `${creating(`${location.named}${quote(plainName)}`).join(';\n\n')};\n`,
    async purge(ask, limit) {
      await location.find(ask)
      return (await ask(purging(), [limit])).length
    },
    async check(ask) {
      await location.find(ask)
      await ask(checking(), [0])
    },
    unavailable(error) {
      const advised = unavailable(error, names)
      if (isMissing(error)) location.forget()
      return advised
    },
    unexpectedRows,
    interrupted: (error) => interrupted(error, names),
    notCommitted: (error) => notCommitted(error, names),
    async migrate(driver) {
      try {
        await driver.transaction(async (tx) => {
          const ask: Ask = (sql, parameters) => driver.query(tx, sql, parameters)
          // At a higher level the snapshot would be older than a table that another deploy has just created.
          await ask('SET TRANSACTION ISOLATION LEVEL READ COMMITTED', [])
          await ask(MIGRATION_LOCK, [])
          await location.find(ask)
          const name = nameNow()
          if (!isTrue(await ask('SELECT to_regclass($1) IS NOT NULL AS found', [name]))) {
            for (const statement of creating(name)) await ask(statement, [])
          }
          if (isTrue(await ask(IS_DEFERRABLE, [name, key]))) throw deferrable(name)
          if (isTrue(await ask(IS_UNLOGGED, [name]))) throw unlogged(name)
          const missing = (await ask(missingColumns, [name])).map((row) => Object.values(row)[0])
          if (missing.length > 0) throw otherTable(name, missing)
        })
      } catch (error) {
        throw unavailable(error, names)
      }
    },
  }
}

const IS_DEFERRABLE = `
  SELECT EXISTS (
    SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND indkey::text = attnum::text
    WHERE indrelid = to_regclass($1) AND attname = $2::text AND indisunique AND NOT indimmediate
  ) AS found`

const IS_UNLOGGED =
  "SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass($1) AND relpersistence <> 'p') AS found"

function isTrue(rows: readonly Row[]): boolean {
  const [value] = Object.values(rows[0] ?? {})
  if (typeof value !== 'boolean') throw unexpectedRows()
  return value
}

function deferrable(name: string): StoreError {
  return new StoreError(
    'store_unavailable',
    `The key of the table ${name} is DEFERRABLE, and ON CONFLICT cannot use such a key, so no delivery could be recorded. Drop that constraint, and add a PRIMARY KEY without DEFERRABLE.`,
  )
}

function unlogged(name: string): StoreError {
  return new StoreError(
    'store_unavailable',
    `The table ${name} is UNLOGGED, or temporary: a crash of the server would empty it, and the events in it would run again. Run ALTER TABLE ${name} SET LOGGED.`,
  )
}

function otherTable(name: string, missing: readonly unknown[]): StoreError {
  return new StoreError(
    'store_unavailable',
    `There is a table ${name} in which these columns are missing or of another kind: ${missing.join(', ')}. It was created by another version or another program. Rename it, or choose another name with the table option; its records are not carried over.`,
  )
}
