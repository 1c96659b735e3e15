import type { WebhookError } from '../../src/index.js'
import { otherTable } from '../sql/table.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { interrupted, isMissing, notCommitted, unavailable } from './advice.js'
import type { Ask, CheckedDriver } from './drivers/driver.js'
import { quote, type TableLocation } from './table-location.js'

/** A table of ours, of which the user may have chosen the name. */
export interface Table {
  /** The quoted name, as SQL has it: with its schema once that is known. */
  readonly name: string
  /** To be called before a statement that uses the table, on the same connection. */
  readonly find: TableLocation['find']
  /** Text made from the name: made again if the schema has been found since. */
  byName<T>(make: (name: string) => T): () => T
  /** The SQL that creates it. */
  readonly ddl: string
  /** Rejects with an error that names the columns that are missing, as in a table of another version. */
  checkColumns(ask: Ask): Promise<void>
  /** Creates the table if it is missing, and refuses one that has other columns. */
  migrate(driver: CheckedDriver<unknown, unknown>): Promise<void>
  /** The store's error for one of the database or the driver. */
  unavailable(error: unknown): WebhookError
  /** The same as `unavailable`, while the handler has the transaction. */
  interrupted(error: unknown): WebhookError
  /** The same after the handler has returned. */
  notCommitted(error: unknown): WebhookError
}

export interface TableDefinition {
  readonly location: TableLocation
  /** Appended to its name: of a second table beside the first. Default: nothing. */
  readonly suffix?: string
  /** The columns with their types; the first one is the key. */
  readonly columns: Readonly<Record<string, string>>
  /** Its indexes: the end of each name, and what follows ON and the table. */
  readonly indexes: Readonly<Record<string, string>>
  /** The user's call that creates it. */
  readonly migrate: string
}

/** Deploys that migrate at the same time wait for each other: CREATE TABLE IF NOT EXISTS alone can fail then. */
// Cast, because Prisma cannot read a column of the type void.
const MIGRATION_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('tix-webhooks migrate', 0))::text"

export function tableOf({ location, suffix = '', columns, indexes, migrate }: TableDefinition): Table {
  const plainName = `${location.table}${suffix}`
  const nameNow = (): string => `${location.schema}${quote(plainName)}`
  const names = {
    get name() {
      return nameNow()
    },
    migrate,
  }
  const definitions = Object.entries(columns).map(([column, type]) => `  ${column} ${type}`)
  const creating = (name: string): string[] => [
    `CREATE TABLE IF NOT EXISTS ${name} (\n${definitions.join(',\n')}\n) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
    ...Object.entries(indexes).map(
      ([suffix, on]) => `CREATE INDEX IF NOT EXISTS ${quote(`${plainName}_${suffix}`)} ON ${name} ${on}`,
    ),
  ]
  // The first word of a definition is its type. The key must be unique, and not DEFERRABLE, or ON CONFLICT does not work.
  const wanted = Object.entries(columns).map(
    ([column, type], position) => `(${position}, '${column}', '${type.split(' ')[0]}')`,
  )
  const missingColumns = `
    WITH present AS (
      SELECT attname, atttypid, EXISTS (
        SELECT FROM pg_index
        WHERE indrelid = attrelid AND indisunique AND indimmediate AND indisvalid AND indpred IS NULL AND indkey::text = attnum::text
      ) AS is_unique
      FROM pg_attribute WHERE attrelid = to_regclass($1)
    )
    SELECT name FROM (VALUES ${wanted.join(', ')}) AS wanted (position, name, type)
    WHERE NOT EXISTS (
      SELECT FROM present
      WHERE attname = name AND atttypid = to_regtype(type) AND (is_unique OR position > 0)
    )
    ORDER BY position`

  async function findMissing(ask: Ask): Promise<unknown[]> {
    return (await ask(missingColumns, [nameNow()])).map((row) => Object.values(row)[0])
  }

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
    find: location.find,
    byName,
    ddl: `${creating(`${location.named}${quote(plainName)}`).join(';\n\n')};\n`,
    async checkColumns(ask) {
      await location.find(ask)
      const missing = await findMissing(ask)
      // All of them are if there is no table, which the next statement reports.
      if (missing.length > 0 && missing.length < wanted.length) throw otherTable(nameNow(), missing)
    },
    unavailable(error) {
      const advised = unavailable(error, names)
      if (isMissing(error)) location.forget()
      return advised
    },
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
          const [row] = await ask('SELECT to_regclass($1) IS NOT NULL AS found', [name])
          const [isThere] = Object.values(row ?? {})
          if (typeof isThere !== 'boolean') throw unexpectedRows()
          if (!isThere) {
            for (const statement of creating(name)) await ask(statement, [])
          }
          const missing = await findMissing(ask)
          if (missing.length > 0) throw otherTable(name, missing)
        })
      } catch (error) {
        throw unavailable(error, names)
      }
    },
  }
}
