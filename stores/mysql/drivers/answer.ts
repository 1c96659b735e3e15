import type { Answer, Row } from './driver.js'

/** Reads what a client returns: rows as lists of values or as objects, or the report on a write. */
export function answerOf(given: unknown): Answer {
  const result: unknown = isOfMysql2(given) ? given[0] : given
  if (Array.isArray(result)) return { rows: result.filter(isObject).map(valuesOf) }
  const { affectedRows, insertId, serverStatus } = (isObject(result) ? result : {}) as Readonly<
    Record<string, unknown>
  >
  if (affectedRows === undefined) return { rows: [] }
  const status = typeof serverStatus === 'number' ? serverStatus : undefined
  return { rows: [], written: { count: Number(affectedRows), id: Number(insertId ?? 0), status } }
}

/** A list of the result and its columns, which are objects with names; there are none for a write. */
function isOfMysql2(given: unknown): given is readonly [result: unknown, columns: unknown] {
  if (!Array.isArray(given) || given.length !== 2) return false
  const [result, columns] = given as readonly unknown[]
  if (columns === undefined) return true
  return Array.isArray(result) && Array.isArray(columns) && columns.length > 0 && columns.every(isColumn)
}

function isColumn(value: unknown): boolean {
  return isObject(value) && 'name' in value && 'columnLength' in value
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** By position, because libraries can rename columns. */
function valuesOf(row: object): Row {
  return (Array.isArray(row) ? row : Object.values(row)).map(textOf)
}

/** Each value is selected as text or a number. Some clients return text as bytes, such as mysql2 with `typeCast: false`. */
function textOf(value: unknown): unknown {
  return value instanceof Uint8Array ? UTF8.decode(value) : value
}

const UTF8 = new TextDecoder()
