import { StoreError } from '../../../src/index.js'

/** The statements that create a table of ours. */
export interface TableDdl {
  /** The quoted name, as SQL has it. */
  readonly name: string
  /** The name without quotes, as SQLite lists it. */
  readonly plainName: string
  /** The column of the primary key. */
  readonly key: string
  readonly createTable: string
  /** One statement for each index. */
  readonly createIndex: string
}

export interface TableLayout {
  /** Appended to the name: of a second table beside the first. Default: nothing. */
  readonly suffix?: string | undefined
  /** The columns of each index, by its name. Default: `expires_at`. */
  readonly indexes?: Readonly<Record<string, string>> | undefined
  /** For rows of more than some hundred bytes. Default: without, because records are short and found by their key. */
  readonly hasRowid?: boolean | undefined
}

/**
 * @param columns with their types; the first one is the key
 * @throws TypeError when the name is invalid
 */
export function tableDdl(
  table: string,
  columns: Readonly<Record<string, string>>,
  { suffix = '', indexes = { expires_at: '(expires_at)' }, hasRowid = false }: TableLayout = {},
): TableDdl {
  if (typeof table !== 'string' || !/^(?!sqlite_)[a-z_]\w{0,47}$/i.test(table)) {
    throw new TypeError(
      "table must be a name of 1 to 48 letters, digits and _, such as 'webhooks'; those that begin with sqlite_ are SQLite's own.",
    )
  }
  const plainName = `${table}${suffix}`
  const name = `"${plainName}"`
  const [key = ''] = Object.keys(columns)
  const definitions = Object.entries(columns).map(([column, type]) => `  ${column} ${type}`)
  return {
    name,
    plainName,
    key,
    createTable: `CREATE TABLE IF NOT EXISTS ${name} (\n${definitions.join(',\n')}\n)${hasRowid ? '' : ' WITHOUT ROWID'};\n`,
    createIndex: Object.entries(indexes)
      .map(
        ([index, indexed]) => `CREATE INDEX IF NOT EXISTS "${plainName}_${index}" ON ${name} ${indexed};\n`,
      )
      .join(''),
  }
}

/** Deletes up to `@limit` records past their retention, oldest first: those whose column `by` is at most `@now`. */
export function purgeStatement({ name, key }: Pick<TableDdl, 'name' | 'key'>, by = 'expires_at'): string {
  return `DELETE FROM ${name} WHERE ${key} IN (SELECT ${key} FROM ${name} WHERE ${by} <= @now ORDER BY ${by} LIMIT @limit)`
}

/** The columns of a table, as `pragma_table_info` lists them. */
export interface FoundColumn {
  readonly name: string
  /** Its place in the primary key, from 1; 0 if it is not in it. */
  readonly pk: number
}

/** The parts of ours that a table lacks. The key must be its whole primary key, or ON CONFLICT does not work. */
export function missingFrom(
  found: readonly FoundColumn[],
  columns: readonly string[],
  key: string,
): readonly string[] {
  const missing = columns.filter((column) => !found.some(({ name }) => name === column))
  const isKeyed = found.every(({ name, pk }) => Number(pk) > 0 === (name === key))
  return isKeyed || missing.includes(key) ? missing : [`PRIMARY KEY (${key})`, ...missing]
}

/** The error of a migration that finds a table of the same name without parts of ours. */
export function ofAnotherVersion(name: string, missing: readonly string[]): StoreError {
  return new StoreError(
    'store_unavailable',
    `There is a table ${name} without ${missing.join(', ')}, so it was created by another version or another program. Rename it, or choose another name with the table option; its records are not carried over.`,
  )
}
