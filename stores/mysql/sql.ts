import { hexOf } from '../sql/kept-text.js'

/**
 * Bytes as a literal. Bytes other than plain ASCII are written in hexadecimal digits: they mean the same in every SQL mode, such as `ANSI_QUOTES` or
 * `NO_BACKSLASH_ESCAPES`, and in every character set, so no text of a sender can end the literal. Statements have no parameters, because
 * clients escape them by the mode that they expect.
 */
export function bytes(value: string | Uint8Array): string {
  if (typeof value === 'string' && PLAIN.test(value)) return `_binary '${value}'`
  return `x'${hexOf(typeof value === 'string' ? UTF8.encode(value) : value)}'`
}

/** The same for a column of text. */
export function text(value: string): string {
  return PLAIN.test(value) ? `_utf8mb4 '${value}'` : `_utf8mb4 x'${hexOf(UTF8.encode(value))}'`
}

const PLAIN = /^[A-Za-z0-9_./: -]*$/
const UTF8 = new TextEncoder()

/** A whole number as a literal. */
export function whole(value: number): string {
  const rounded = Math.round(value)
  if (!Number.isSafeInteger(rounded)) throw new TypeError('A number in a statement must be finite.')
  return `${rounded}`
}

/** The clock of the server in UTC, whatever the time zone of the session. It is the same throughout a statement. */
export const NOW = 'UTC_TIMESTAMP(6)'

/** So many milliseconds from now. */
export function inMs(milliseconds: number): string {
  return `${NOW} + INTERVAL ${whole(milliseconds * 1000)} MICROSECOND`
}

/** In backticks: double quotes are text without `ANSI_QUOTES`. */
export function quote(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
