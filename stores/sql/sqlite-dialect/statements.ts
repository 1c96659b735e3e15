import type { SqlType } from '../columns.js'
import { EXPIRED } from '../purge.js'
import type { Read } from '../reads.js'
import { type CoreSql, type Fields, spell } from '../statement.js'
import { verdictSql } from '../verdict.js'
import {
  insertedBy,
  UPDATES,
  UPSERTS,
  type Update,
  type UpdateName,
  type Upsert,
  type UpsertName,
} from '../writes.js'

/** A statement, and the names of its parameters in their order. */
export interface Statement {
  readonly text: string
  readonly names: readonly string[]
}

/** How a SQLite takes parameters, and where the time comes from. */
export interface Client {
  /** @param place from 1 */
  parameter(name: string, place: number): string
  /** An expression for the time. Without one, each statement has a parameter `now`. */
  readonly clock?: string
}

/** On one machine: the clock is that of the process, and each driver has named parameters. */
export const LOCAL: Client = { parameter: (name) => `@${name}` }

/**
 * Hosted, with a clock of its own, because the Workers that share it run on many machines. Each statement reads it once. Not each client has
 * named parameters.
 */
export const HOSTED: Client = {
  parameter: (_, place) => `?${place}`,
  clock: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
}

/** The statements of the core in the dialect of SQLite. Each write returns a row for each that it changed. */
export interface Statements {
  readonly upserts: Readonly<Record<UpsertName, Statement>>
  readonly updates: Readonly<Record<UpdateName, Statement>>
  /** The verdict on a row within its retention, and how many failures and failed replays it has. */
  readonly find: Statement
  readonly forget: Statement
  /** Returns whether each deleted row was parked. */
  readonly purge: Statement
  read(read: Read): Statement
}

/** @param table the quoted name */
export function statementsFor(table: string, { parameter, clock }: Client): Statements {
  function statement(text: CoreSql, fields: Fields): Statement {
    const names = [...Object.keys(fields), ...(clock === undefined ? ['now'] : [])]
    const parameterFor = (name: string): string => {
      const spelt = parameter(name, names.indexOf(name) + 1)
      // Some drivers bind no bytes as NULL.
      return fields[name] === 'bytes' ? `coalesce(${spelt}, x'')` : spelt
    }
    const now = clock ?? parameterFor('now')
    return {
      names,
      text: spell(text.replaceAll(':table', table), {
        parameter: parameterFor,
        now,
        live: `stored.expires_at > ${now}`,
        stored: (column) => `stored.${column}`,
        given: (column) => `excluded.${column}`,
      }),
    }
  }

  const verdict = verdictSql((column) => column, ':token')

  function upsert(write: Upsert): Statement {
    const inserted = insertedBy(write)
    const values = inserted.map(([, value]) => value).join(', ')
    const rows =
      write.inserts === undefined
        ? `VALUES (${values})`
        : `SELECT ${values} WHERE ${write.inserts} OR EXISTS (SELECT 1 FROM :table WHERE event_key = :key)`
    // It writes only if it takes the row, so that a duplicate need not wait for the disk.
    return statement(
      `INSERT INTO :table AS stored (${inserted.map(([column]) => column).join(', ')})
       ${rows}
       ON CONFLICT (event_key) DO UPDATE SET ${assigned(write)}
       WHERE ${write.accepts}
       RETURNING ${verdict} AS verdict`,
      write.fields,
    )
  }

  function update(write: Update): Statement {
    return statement(
      `UPDATE :table AS stored SET ${assigned(write)} WHERE event_key = :key AND ${write.accepts} RETURNING 1 AS changed`,
      write.fields,
    )
  }

  return {
    upserts: mapped(UPSERTS, upsert),
    updates: mapped(UPDATES, update),
    find: statement(
      `SELECT ${verdict} AS verdict, coalesce(fails, 0) + coalesce(replays, 0) AS seen
       FROM :table WHERE event_key = :key AND expires_at > :now`,
      { key: 'key', token: 'token' },
    ),
    forget: statement('DELETE FROM :table WHERE event_key = :key RETURNING 1 AS changed', { key: 'key' }),
    purge: statement(
      `DELETE FROM :table WHERE event_key IN (
         SELECT event_key FROM :table WHERE ${EXPIRED}
       ) RETURNING failure = 'parked' AS parked`,
      { age_ms: 'ms', limit: 'integer' },
    ),
    read({ select, from, fields }) {
      const list = select.map(({ sql, type }, i) => `${selected(sql, type)} AS c${i}`).join(', ')
      return statement(`SELECT ${list} ${from}`, fields)
    },
  }
}

function assigned({ set }: Pick<Upsert, 'set'>): CoreSql {
  return set.map(([column, value]) => `${column} = ${value}`).join(', ')
}

/** Some drivers return no bytes as NULL. */
function selected(sql: CoreSql, type: SqlType): CoreSql {
  return type === 'bytes' ? `CASE length(${sql}) WHEN 0 THEN '' ELSE ${sql} END` : sql
}

function mapped<Name extends string, From, To>(
  from: Readonly<Record<Name, From>>,
  to: (value: From) => To,
): Record<Name, To> {
  const entries = Object.entries<From>(from).map(([name, value]) => [name, to(value)])
  return Object.fromEntries(entries) as Record<Name, To>
}
