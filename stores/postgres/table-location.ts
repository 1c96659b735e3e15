import { bytesIn } from '../sql/kept-text.js'
import { namesIn } from '../sql/table.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import type { Ask } from './drivers/driver.js'

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
  /** Whether the database can hold every character, once that is known. */
  readonly isUtf8: boolean
  /** Looks both up unless they are known. A missing table is looked up again. */
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
  const [table, inSchema] = namesIn(given, 'schema', 48)
  const named = inSchema === undefined ? '' : `${quote(inSchema)}.`
  let schema = named
  let isUtf8: boolean | undefined
  return {
    table,
    named,
    get schema() {
      return schema
    },
    get isUtf8() {
      return isUtf8 !== false
    },
    async find(ask) {
      if (schema !== '' && isUtf8 !== undefined) return
      const [row] = await ask(FIND, [quote(table)])
      // By position, because clients can rename columns.
      const [name, isUtf] = Object.values(row ?? {})
      if (typeof isUtf !== 'boolean') throw unexpectedRows()
      isUtf8 = isUtf
      const found = nameIn(name)
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
  ), '') AS schema, current_setting('server_encoding') = 'UTF8' AS utf`

function nameIn(found: unknown): string {
  return new TextDecoder().decode(bytesIn(found))
}
