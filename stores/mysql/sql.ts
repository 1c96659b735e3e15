import type { SqlType } from '../sql/columns.js'
import { hexOf } from '../sql/kept-text.js'
import type { Value } from '../sql/statement.js'

/**
 * Bytes, or text, as a literal. Other than plain ASCII is written in hexadecimal digits: they mean the same in every SQL mode, such as `ANSI_QUOTES` or
 * `NO_BACKSLASH_ESCAPES`, and in every character set, so no text of a sender can end the literal. Statements have no parameters, because
 * clients escape them by the mode that they expect.
 */
export function bytes(value: string | Uint8Array): string {
  if (typeof value === 'string' && PLAIN.test(value)) return `_binary '${value}'`
  return `x'${hexOf(typeof value === 'string' ? UTF8.encode(value) : value)}'`
}

const PLAIN = /^[A-Za-z0-9_./: -]*$/
const UTF8 = new TextEncoder()

/** A whole number as a literal. */
export function whole(value: number): string {
  const rounded = Math.round(value)
  if (!Number.isSafeInteger(rounded)) throw new TypeError('A number in a statement must be finite.')
  return `${rounded}`
}

/** A value of the core as a literal. */
export function literal(value: Value): string {
  if (value === undefined || value === null) return 'NULL'
  return typeof value === 'number' ? whole(value) : bytes(value)
}

/**
 * The clock of the server in milliseconds, whatever the time zone of the session. It is the same throughout a statement.
 */
export const NOW = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)"

/**
 * Text is kept in columns of bytes, so that it compares exactly: `utf8mb4_bin` ignores blanks at the end, and MySQL and MariaDB have no
 * common collation that does not. 255 characters have at most 1,020 bytes.
 */
export const TYPES: Readonly<Record<SqlType, string>> = {
  key: 'VARBINARY(255)',
  token: 'VARBINARY(64)',
  word: 'VARBINARY(64)',
  text: 'VARBINARY(1020)',
  message: 'MEDIUMBLOB',
  integer: 'INT',
  ms: 'BIGINT',
  bytes: 'LONGBLOB',
}

/** In backticks: double quotes are text without `ANSI_QUOTES`. */
export function quote(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
