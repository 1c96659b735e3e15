import { unexpectedRows } from '../sql/unexpected-rows.js'
import type { Row } from './drivers/driver.js'

/** Runs a statement on the connection that is about to use the table. */
export type Ask = (sql: string, parameters: readonly unknown[]) => Promise<readonly Row[]>

/**
 * The schema of a table: the one that the user named, or the first in which Postgres finds it, kept from then on. A handler, or the
 * app's pool, can leave a connection with another `search_path`, in which a table of that name has other records.
 */
export interface TableLocation {
  /** The name of the table, without its schema. */
  readonly table: string
  /** The schema if the user named it, in the form of `schema`. */
  readonly named: string
  /** Quoted, and with a dot. Empty until it is known: a statement then fails with the server's own words if there is no such table. */
  readonly schema: string
  /** Looks the schema up unless it is known. A missing table is looked up again. */
  find(ask: Ask): Promise<void>
  /** To be called when the table is missing: it may have been moved. */
  forget(): void
}

/** A second inbox of a pool must not look for itself: by then, a handler may have left another `search_path`. */
const known = new WeakMap<object, Map<string, TableLocation>>()

/** The location of a table for all that use this pool. See `locationOf`. */
export function locationIn(pool: object, given: string): TableLocation {
  const locations = known.get(pool) ?? new Map<string, TableLocation>()
  known.set(pool, locations)
  const location = locations.get(given) ?? locationOf(given)
  locations.set(given, location)
  return location
}

/**
 * @param given the user's text: a name, or a schema and a name
 * @throws TypeError when it is neither
 */
export function locationOf(given: string): TableLocation {
  if (typeof given !== 'string' || !/^([A-Za-z_]\w{0,47}\.)?[A-Za-z_]\w{0,47}$/.test(given)) {
    throw new TypeError(
      "table must be a name of 1 to 48 letters, digits and _, such as 'webhooks', or a schema and such a name, such as 'app.webhooks'.",
    )
  }
  const [table = '', inSchema] = given.split('.').reverse()
  const named = inSchema === undefined ? '' : `${quote(inSchema)}.`
  let schema = named
  return {
    table,
    named,
    get schema() {
      return schema
    },
    async find(ask) {
      if (schema !== '') return
      const found = nameIn(await ask(FIND, [quote(table)]))
      // Another delivery may have found it in the meantime.
      if (schema === '' && found !== '') schema = `${quote(found)}.`
    },
    forget() {
      schema = named
    },
  }
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** In hexadecimal digits after an x, because clients can be set to change text: its letters, its spaces, its numbers. */
const FIND = `
  SELECT 'x' || coalesce((
    SELECT encode(convert_to(nspname::text, 'UTF8'), 'hex')
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE pg_class.oid = to_regclass($1::text)
  ), '') AS schema`

function nameIn(rows: readonly Row[]): string {
  // By position, because clients can rename columns.
  const [found] = Object.values(rows[0] ?? {})
  if (typeof found !== 'string' || !/^x([\da-f]{2})*$/i.test(found)) throw unexpectedRows()
  return decodeURIComponent(found.slice(1).replace(/../g, '%$&'))
}
