import { StoreError, type WebhookError } from '../../src/index.js'
import type { TableNames } from '../sql/advice.js'
import { bytesIn } from '../sql/kept-text.js'
import type { Purged } from '../sql/purge.js'
import { namesIn, otherTable } from '../sql/table.js'
import { noRights, unavailable } from './advice.js'
import { retryConflicts, retryWaits } from './conflicts.js'
import type { Database } from './database.js'
import type { Ask, CheckedDriver } from './drivers/driver.js'
import { bytes, quote, whole } from './sql.js'

/** A table of ours, of which the user may have chosen the name. */
export interface Table {
  /** The quoted name, as SQL has it: with its database once that is known. */
  readonly name: string
  /** The SQL that creates it. */
  readonly ddl: string
  /** Rejects with a `StoreError` that lists the columns that are missing, as in a table of another version. */
  check(ask: Ask): Promise<void>
  /** Creates the table if it is missing, and refuses one that has other columns. */
  migrate(driver: CheckedDriver<unknown, unknown>): Promise<void>
  /** Deletes the rows of a condition, oldest first. */
  purge(driver: CheckedDriver<unknown, unknown>, wanted: Wanted): Promise<Purged>
  /** The store's error for one of the database or the driver. */
  unavailable(error: unknown): WebhookError
}

interface Wanted {
  readonly where: string
  readonly by: string
  readonly limit: number
  /** The condition of those that are counted as parked. Default: none is. */
  readonly isParked?: string
}

export interface TableDefinition {
  readonly database: Database
  /** The user's text: a name, or a database and a name. */
  readonly given: string
  /** Appended to its name: of a second table beside the first. Default: nothing. */
  readonly suffix?: string
  /** The columns with their types; the first one is the key. */
  readonly columns: Readonly<Record<string, string>>
  /** The indexes: the end of the name of each, and its columns. */
  readonly indexes: Readonly<Record<string, string>>
  /** A statement that fills it, and may be run again, and one that returns a row if it is full. Default: none. */
  readonly filling?: { statement(name: string): string; isDone(name: string): string }
  /** The user's call that creates it. */
  readonly migrate: string
}

/** The most rows that one statement deletes: each takes memory of the server's parser. */
const MOST_DELETED = 250

export function tableOf(definition: TableDefinition): Table {
  const { database, given, suffix = '', columns, indexes, filling, migrate } = definition
  const [plain, inDatabase] = namesIn(given, 'database', 64)
  const named = inDatabase === undefined ? undefined : `${quote(inDatabase)}.`
  const table = `${plain}${suffix}`
  const nameNow = (): string => `${named ?? database.prefix}${quote(table)}`
  const names: TableNames = {
    get name() {
      return nameNow()
    },
    migrate,
  }
  const [key = ''] = Object.keys(columns)

  // The keys are longer than other row formats allow, of which innodb_default_row_format may be one.
  const creating = (name: string): string => {
    const lines = [
      ...Object.entries(columns).map(([column, type]) => `${quote(column)} ${type}`),
      `PRIMARY KEY (${quote(key)})`,
      ...Object.entries(indexes).map(([suffix, on]) => `KEY ${quote(`${table}_${suffix}`)} ${on}`),
    ]
    return `CREATE TABLE IF NOT EXISTS ${name} (\n  ${lines.join(',\n  ')}\n) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`
  }

  async function check(ask: Ask): Promise<void> {
    // Not DATABASE(): a handler may have left the connection with another one.
    const isOurs = `TABLE_SCHEMA = ${bytes(unquoted(named ?? database.prefix))} AND TABLE_NAME = ${bytes(table)}`
    const present = await textsOf(
      ask,
      `SELECT LOWER(CONCAT(COLUMN_NAME, ' ', DATA_TYPE)) FROM information_schema.COLUMNS WHERE ${isOurs}`,
    )
    // The error for a table that is missing; one without columns is one that the server does not show to this user.
    if (present.length === 0) await ask(`SELECT 1 FROM ${nameNow()} WHERE FALSE`)
    if (present.length === 0) throw new StoreError('store_unavailable', noRights(names))
    const missing = Object.entries(columns)
      .map(([column, type]) => [column, /^\w+/.exec(type.toLowerCase())?.[0]])
      .filter(([column, type]) => !present.includes(`${column} ${type}`))
      .map(([column]) => column)
    const primary = await textsOf(
      ask,
      `SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE ${isOurs} AND INDEX_NAME = 'PRIMARY'`,
    )
    if (missing.length === 0 && `${primary}` !== key) missing.push(key)
    if (missing.length > 0) throw otherTable(nameNow(), missing)
    const [engine] = await textsOf(ask, `SELECT ENGINE FROM information_schema.TABLES WHERE ${isOurs}`)
    if (engine?.toLowerCase() !== 'innodb') throw otherEngine(nameNow(), engine)
  }

  return {
    get name() {
      return nameNow()
    },
    ddl: [creating(`${named ?? ''}${quote(table)}`), filling?.statement(`${named ?? ''}${quote(table)}`)]
      .filter((statement) => statement !== undefined)
      .map((statement) => `${statement};\n`)
      .join('\n'),
    check,
    unavailable: (error) => unavailable(error, names),
    async migrate(driver) {
      try {
        // Statements that create commit by themselves, so each is safe to run again, and beside another deploy.
        await retryConflicts(() =>
          driver.transaction(async (tx) => {
            const ask: Ask = (sql) => driver.query(tx, sql)
            await database.find(ask)
            await ask(creating(nameNow()))
            await check(ask)
          }),
        )
        if (filling === undefined) return
        await retryWaits(async () => {
          const { rows } = await driver.reading((ask) => ask(filling.isDone(nameNow())))
          if (rows.length > 0) return
          await driver.transaction((tx) => driver.query(tx, filling.statement(nameNow())))
        })
      } catch (error) {
        throw unavailable(error, names)
      }
    },
    async purge(driver, { where, by, limit, isParked = 'FALSE' }) {
      const name = nameNow()
      // Found without a lock, which a scan would take on all that it reads, and then locked by their keys.
      const { rows } = await driver.reading((ask) =>
        ask(
          `SELECT CONCAT('x', HEX(${quote(key)})) FROM ${name} WHERE ${where} ORDER BY ${by} LIMIT ${whole(limit)}`,
        ),
      )
      const purged = { deleted: 0, parked: 0 }
      for (let from = 0; from < rows.length; from += MOST_DELETED) {
        const chunk = rows.slice(from, from + MOST_DELETED)
        const { deleted, parked } = await retryConflicts(() =>
          driver.transaction((tx) => purgeThese((sql) => driver.query(tx, sql), chunk)),
        )
        purged.deleted += deleted
        purged.parked += parked
      }
      return purged

      async function purgeThese(ask: Ask, found: readonly (readonly unknown[])[]): Promise<Purged> {
        // Not those that are locked: a delivery may hold one for as long as its handler runs.
        const { rows: locked } = await ask(
          `SELECT CONCAT('x', HEX(${quote(key)})), ${isParked} FROM ${joined(found)} WHERE ${where} FOR UPDATE SKIP LOCKED`,
        )
        if (locked.length > 0) await ask(`DELETE ${name} FROM ${joined(locked)}`)
        return {
          deleted: locked.length,
          parked: locked.filter(([, is]) => Number(is ?? 0) === 1).length,
        }
      }

      /** Found one by one in the primary key. With IN, the server may read the whole table, and wait for a record whose handler runs. */
      function joined(found: readonly (readonly unknown[])[]): string {
        const keys = found.map(([hex]) => `SELECT x'${String(hex).slice(1)}' AS expired_key`)
        // Without an alias for the table, which would need a database of the connection.
        return `(${keys.join(' UNION ALL ')}) AS expired STRAIGHT_JOIN ${name} FORCE INDEX (PRIMARY) ON ${name}.${quote(key)} = expired_key`
      }
    },
  }
}

function unquoted(prefix: string): string {
  return prefix.slice(1, -2).replaceAll('``', '`')
}

/** Text that no client converts: it is selected in hexadecimal digits. */
async function textsOf(ask: Ask, select: string): Promise<string[]> {
  const { rows } = await ask(select.replace(/^SELECT (.*?) FROM/, "SELECT CONCAT('x', HEX($1)) FROM"))
  return rows.map(([hex]) => textIn(hex))
}

export function textIn(hex: unknown): string {
  return UTF8.decode(bytesIn(hex))
}

const UTF8 = new TextDecoder()

function otherEngine(name: string, engine: string | undefined): StoreError {
  return new StoreError(
    'store_unavailable',
    `The table ${name} is of the engine ${engine}, which has no transactions. Run ALTER TABLE ${name} ENGINE = InnoDB.`,
  )
}
