import type { ClaimResult } from '../../../src/index.js'
import { purgeStatement, type TableDdl, tableDdl } from './ddl.js'
import { STORE_COLUMNS, type StoreStatement, statementsFor } from './statements.js'

/**
 * The time of the clock of the database, because the Workers that share it run on many machines. Each statement reads it once.
 */
const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"

/** The parameters of each statement, in their order. */
const PARAMETERS = {
  claim: ['key', 'token', 'leaseMs', 'retainMs'],
  find: ['key'],
  renew: ['key', 'token', 'leaseMs'],
  complete: ['key', 'token', 'retainMs'],
  release: ['key', 'token'],
  purge: ['limit'],
} as const

/** A store's table, its statements and its columns, for a SQLite that is hosted with a clock of its own. */
export interface HostedTable extends TableDdl {
  readonly columns: readonly string[]
  /** Statements with numbered parameters, because some clients have no named ones. A statement that changes records returns one row for each. */
  readonly sql: Readonly<Record<StoreStatement | 'purge' | 'forget', string>>
}

/** @throws TypeError when the name is invalid */
export function hostedTable(table: string): HostedTable {
  const created = tableDdl(table, STORE_COLUMNS)
  const { name, key } = created
  const columns = Object.keys(STORE_COLUMNS)
  const { claim, find, renew, complete, release } = statementsFor(name)
  const changing = (statement: keyof typeof PARAMETERS, sql: string): string =>
    `${numbered(sql, PARAMETERS[statement])} RETURNING 1`
  return {
    ...created,
    columns,
    sql: {
      claim: numbered(claim, PARAMETERS.claim),
      find: numbered(find, PARAMETERS.find).replace('lease_until', `lease_until - ${NOW} AS left_ms`),
      renew: changing('renew', renew),
      complete: changing('complete', complete),
      release: changing('release', release),
      purge: changing('purge', purgeStatement(created)),
      forget: `DELETE FROM ${name} WHERE ${key} = ?1`,
    },
  }
}

/** Numbers the parameters, and reads the clock: `@leaseUntil` becomes now and the parameter `leaseMs`. */
function numbered(sql: string, parameters: readonly string[]): string {
  const numberOf = (name: string): string => `?${parameters.indexOf(name) + 1}`
  return sql
    .replaceAll('@now', NOW)
    .replaceAll('@leaseUntil', `${NOW} + ${numberOf('leaseMs')}`)
    .replaceAll('@expiresAt', `${NOW} + ${numberOf('retainMs')}`)
    .replaceAll(/@(\w+)/g, (_, name: string) => numberOf(name))
}

type Rows = readonly unknown[]

/** Whether the record that was found, if any, is completed. */
export function isCompleted([record]: Rows): boolean {
  return (record as { state: string } | undefined)?.state === 'completed'
}

/** The answer to a claim, from the rows of its two statements. */
export function claimResult(claimed: Rows, found: Rows): ClaimResult {
  const [taken] = claimed as readonly { attempt: number }[]
  if (taken !== undefined) return { status: 'claimed', attempt: taken.attempt }
  const [record] = found as readonly { state: string; left_ms: number }[]
  if (record?.state === 'completed') return { status: 'completed' }
  return { status: 'in_flight', retryAfterMs: record?.state === 'running' ? Math.max(record.left_ms, 1) : 1 }
}
