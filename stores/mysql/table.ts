import { StoreError, type WebhookError } from '../../src/index.js'
import { bytesIn } from '../sql/kept-text.js'
import { noRights, type TableNames, unavailable } from './advice.js'
import { retryConflicts, retryWaits } from './conflicts.js'
import type { Database } from './database.js'
import type { Ask, CheckedDriver } from './drivers/driver.js'
import { NOW, quote, text, whole } from './sql.js'

/** A table of ours, of which the user may have chosen the name. */
export interface Table {
  /** The quoted name, as SQL has it: with its database once that is known. */
  readonly name: string
  /** The name alone. */
  readonly table: string
  /** To be called before a statement that uses the table, on the same connection. */
  find(ask: Ask): Promise<void>
  /** The SQL that creates it. */
  readonly ddl: string
  /** Deletes expired records, `limit` at most, in the transaction of `ask`, and returns their number. */
  purge(ask: Ask, limit: number): Promise<number>
  /** Rejects with the error that a delivery would meet: no such table or column, no rights, a server that is read-only. */
  check(ask: Ask): Promise<void>
  /** Creates the table if it is missing, and refuses one that has other columns. */
  migrate(driver: CheckedDriver<unknown, unknown>): Promise<void>
  /** The store's error for one of the database or the driver. */
  unavailable(error: unknown): WebhookError
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
  /** The condition of a record that is deleted, and the column by which the oldest are. Default: none is. */
  readonly expired?: { readonly condition: string; readonly by: string }
  /** A statement that fills it, and may be run again, and one that returns a row if it is full. Default: none. */
  readonly filling?: { statement(name: string): string; isDone(name: string): string }
  /** The user's call that creates it. */
  readonly migrate: string
}

/** The most rows that one statement deletes: each takes memory of the server's parser. */
const MOST_DELETED = 250

/** The condition of a record past its retention. */
export function pastRetention(column = 'expires_at'): NonNullable<TableDefinition['expired']> {
  const both = column === 'expires_at' ? '' : ` AND expires_at <= ${NOW}`
  return { condition: `${column} <= ${NOW}${both}`, by: column }
}

export function tableOf({
  database,
  given,
  suffix = '',
  columns,
  indexes,
  expired,
  filling,
  migrate,
}: TableDefinition): Table {
  const [plain, named] = namesIn(given)
  const table = `${plain}${suffix}`
  const nameNow = (): string => `${named ?? database.prefix}${quote(table)}`
  const names: TableNames = {
    get name() {
      return nameNow()
    },
    migrate,
  }
  const [key = ''] = Object.keys(columns)
  const listed = Object.keys(columns).map(quote).join(', ')
  const updates = Object.keys(columns)
    .slice(1)
    .map((column) => `${quote(column)} = VALUES(${quote(column)})`)

  // The keys are longer than other row formats allow, of which innodb_default_row_format may be one.
  const creating = (name: string): string => {
    const lines = [
      ...Object.entries(columns).map(([column, type]) => `${quote(column)} ${type}`),
      `PRIMARY KEY (${quote(key)})`,
      ...Object.entries(indexes).map(([suffix, on]) => `KEY ${quote(`${table}_${suffix}`)} ${on}`),
    ]
    return `CREATE TABLE IF NOT EXISTS ${name} (\n  ${lines.join(',\n  ')}\n) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`
  }

  async function checkColumns(ask: Ask): Promise<void> {
    // Not DATABASE(): a handler may have left the connection with another one.
    const isOurs = `TABLE_SCHEMA = ${text(unquoted(named ?? database.prefix))} AND TABLE_NAME = ${text(table)}`
    const present = await textsOf(
      ask,
      `SELECT LOWER(CONCAT(COLUMN_NAME, ' ', DATA_TYPE)) FROM information_schema.COLUMNS WHERE ${isOurs}`,
    )
    // It has been created, or was there: a table without columns is one that the server does not show to this user.
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
    table,
    find: (ask) => database.find(ask),
    ddl: [creating(`${named ?? ''}${quote(table)}`), filling?.statement(`${named ?? ''}${quote(table)}`)]
      .filter((statement) => statement !== undefined)
      .map((statement) => `${statement};\n`)
      .join('\n'),
    async purge(ask, limit) {
      if (expired === undefined) return 0
      // Locked first, and not those that are locked: a delivery may hold one for as long as its handler runs.
      const { rows } = await ask(`
        SELECT CONCAT('x', HEX(${quote(key)})) FROM ${nameNow()} WHERE ${expired.condition}
        ORDER BY ${expired.by} LIMIT ${whole(limit)} FOR UPDATE SKIP LOCKED`)
      if (rows.length === 0) return 0
      const keys = rows.map(([hex]) => `SELECT x'${String(hex).slice(1)}' AS expired_key`)
      const name = nameNow()
      for (let from = 0; from < keys.length; from += MOST_DELETED) {
        // Found one by one in the primary key. With IN, the server may read the whole table, and wait for a record whose handler runs.
        // Without an alias for it, which would need a database of the connection.
        await ask(`
          DELETE ${name} FROM (${keys.slice(from, from + MOST_DELETED).join(' UNION ALL ')}) AS expired
          STRAIGHT_JOIN ${name} FORCE INDEX (PRIMARY) ON ${name}.${quote(key)} = expired_key`)
      }
      return rows.length
    },
    async check(ask) {
      // Writes of no row: the server then checks all that a write needs.
      await ask(
        `INSERT INTO ${nameNow()} (${listed}) SELECT ${listed} FROM ${nameNow()} LIMIT 0 ON DUPLICATE KEY UPDATE ${updates.join(', ') || `${quote(key)} = VALUES(${quote(key)})`}`,
      )
      await ask(`DELETE FROM ${nameNow()} WHERE FALSE LIMIT 0`)
    },
    unavailable: (error) => unavailable(error, names),
    async migrate(driver) {
      try {
        // Statements that create commit by themselves, so each is safe to run again, and beside another deploy.
        await retryConflicts(() =>
          driver.transaction(async (tx) => {
            const ask: Ask = (sql) => driver.query(tx, sql)
            await database.find(ask)
            await ask(creating(nameNow()))
            await checkColumns(ask)
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
  }
}

/** @throws TypeError when it is neither a name nor a database and a name */
function namesIn(given: string): readonly [table: string, database: string | undefined] {
  if (typeof given !== 'string' || !/^([A-Za-z_]\w{0,63}\.)?[A-Za-z_]\w{0,47}$/.test(given)) {
    throw new TypeError(
      "table must be a name of 1 to 48 letters, digits and _, such as 'webhooks', or a database and such a name, such as 'app.webhooks'.",
    )
  }
  const [table = '', database] = given.split('.').reverse()
  return [table, database === undefined ? undefined : `${quote(database)}.`]
}

function unquoted(prefix: string): string {
  return prefix.slice(1, -2).replaceAll('``', '`')
}

/** Text that no client converts: it is selected in hexadecimal digits. */
async function textsOf(ask: Ask, select: string): Promise<string[]> {
  const { rows } = await ask(select.replace(/^SELECT (.*?) FROM/, "SELECT CONCAT('x', HEX($1)) FROM"))
  return rows.map(([hex]) => UTF8.decode(bytesIn(hex)))
}

const UTF8 = new TextDecoder()

function otherTable(name: string, missing: readonly (string | undefined)[]): StoreError {
  return new StoreError(
    'store_unavailable',
    `There is a table ${name} in which these columns are missing or of another kind: ${missing.join(', ')}. It was created by another version or another program. Rename it, or choose another name with the table option; its records are not carried over.`,
  )
}

function otherEngine(name: string, engine: string | undefined): StoreError {
  return new StoreError(
    'store_unavailable',
    `The table ${name} is of the engine ${engine}, which has no transactions. Run ALTER TABLE ${name} ENGINE = InnoDB.`,
  )
}
