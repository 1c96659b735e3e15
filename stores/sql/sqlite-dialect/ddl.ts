import { StoreError } from '../../../src/index.js'
import { COLUMNS, type Column, INDEXES, REQUIRED, type SqlType } from '../columns.js'

/** The statements that create a table of ours. */
export interface TableDdl {
  /** The quoted name, as SQL has it. */
  readonly name: string
  /** The name without quotes, as SQLite lists it. */
  readonly plainName: string
  /** With their types; the first one is the key. */
  readonly columns: Readonly<Record<string, string>>
  readonly createTable: string
  readonly createIndexes: readonly string[]
}

const TYPES: Readonly<Record<SqlType, string>> = {
  key: 'TEXT',
  token: 'TEXT',
  word: 'TEXT',
  text: 'TEXT',
  message: 'TEXT',
  integer: 'INTEGER',
  ms: 'INTEGER',
  bytes: 'BLOB',
}

/**
 * What lists and groups of failures ask of a row beside the columns of their index: with them, only the rows of a page are read. The rows are of some
 * kilobytes, and lie apart.
 */
const ASKED: readonly Column[] = ['failed_at', 'failure', 'expires_at', 'kind', 'namespace', 'account']
const COVERED: Readonly<Record<string, readonly Column[]>> = {
  failures: [...ASKED, 'event_id'],
  causes: [...ASKED, 'received_at', 'replays', 'first_at'],
}

/**
 * The table of events.
 *
 * @throws TypeError when the name is invalid
 */
export function eventsDdl(table: string): TableDdl {
  if (typeof table !== 'string' || !/^(?!sqlite_)[a-z_]\w{0,47}$/i.test(table)) {
    throw new TypeError(
      "table must be a name of 1 to 48 letters, digits and _, such as 'webhooks'; those that begin with sqlite_ are SQLite's own.",
    )
  }
  const columns = Object.entries(COLUMNS).map(([column, type], place) => {
    const isRequired = REQUIRED.has(column as Column)
    return [
      column,
      `${TYPES[type]}${isRequired ? ' NOT NULL' : ''}${place === 0 ? ' PRIMARY KEY' : ''}`,
    ] as const
  })
  const indexes = INDEXES.map(({ suffix, columns, isOfFailures }) => {
    const all = new Set([...columns, ...(COVERED[suffix] ?? [])])
    return [suffix, `(${[...all].join(', ')})${isOfFailures ? ' WHERE failed_at IS NOT NULL' : ''}`] as const
  })
  return tableDdl(table, Object.fromEntries(columns), Object.fromEntries(indexes))
}

/**
 * @param columns with their types; the first one is the key
 * @param indexes the columns of each, by the end of its name
 */
export function tableDdl(
  table: string,
  columns: Readonly<Record<string, string>>,
  indexes: Readonly<Record<string, string>>,
): TableDdl {
  const definitions = Object.entries(columns).map(([column, type]) => `  ${column} ${type}`)
  return {
    name: `"${table}"`,
    plainName: table,
    columns,
    createTable: `CREATE TABLE IF NOT EXISTS "${table}" (\n${definitions.join(',\n')}\n) WITHOUT ROWID;\n`,
    createIndexes: Object.entries(indexes).map(
      ([suffix, indexed]) => `CREATE INDEX IF NOT EXISTS "${table}_${suffix}" ON "${table}" ${indexed};\n`,
    ),
  }
}

/** The columns of a table with this name, as `missingFrom` takes them. */
export const FIND_COLUMNS = 'SELECT name, pk FROM pragma_table_info(?)'

export interface FoundColumn {
  readonly name: string
  /** Its place in the primary key, from 1; 0 if it is not in it. */
  readonly pk: number
}

/**
 * Refuses a table that lacks parts of ours. The key must be its whole primary key, or ON CONFLICT does not work.
 *
 * @param found none if there is no table
 * @throws StoreError that names the parts, and says what to do
 */
export function checkColumns(found: readonly FoundColumn[], { name, columns }: TableDdl): void {
  if (found.length === 0) return
  const wanted = Object.keys(columns)
  const [key = ''] = wanted
  const missing = wanted.filter((column) => !found.some(({ name }) => name === column))
  const isKeyed = found.every(({ name, pk }) => Number(pk) > 0 === (name === key))
  if (!isKeyed && !missing.includes(key)) missing.unshift(`PRIMARY KEY (${key})`)
  if (missing.length === 0) return
  throw new StoreError(
    'store_unavailable',
    `There is a table ${name} without ${missing.join(', ')}, so it was created by another version or another program. Rename it, or choose another name with the table option; docs/moving.md has the statements that carry over the records of 0.1.0.`,
  )
}
