import { StoreError } from '../../src/index.js'
import { sharedMap } from '../../src/internal.js'
import { bytesIn } from '../sql/kept-text.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { NO_AUTOCOMMIT, OTHER_ASSIGNMENT, SELECT_LIMIT } from './advice.js'
import type { Ask } from './drivers/driver.js'
import { quote } from './sql.js'

/** The database that a pool is connected to, looked up once. */
export interface Database {
  /** Quoted, and with a dot; empty until it is known. */
  readonly prefix: string
  /**
   * Looks it up, unless it is known. It warns once if the server can lose confirmed writes.
   *
   * @throws StoreError when a setting of the connections changes what our statements do
   */
  find(ask: Ask): Promise<void>
}

/** The database of a pool, or of a driver. A handler may leave a connection with another one by USE. */
export function databaseOf(pool: object): Database {
  const known = sharedMap<object, Database>('mysql databases')
  const found = known.get(pool) ?? createDatabase()
  known.set(pool, found)
  return found
}

function createDatabase(): Database {
  let prefix: string | undefined
  return {
    get prefix() {
      return prefix ?? ''
    },
    async find(ask) {
      if (prefix !== undefined) return
      const [name, warnings] = await askOnce(ask)
      if (prefix !== undefined) return
      prefix = name === '' ? '' : `${quote(name)}.`
      for (const warning of warnings) console.warn(`tix-webhooks: ${warning}`)
    },
  }
}

async function askOnce(ask: Ask): Promise<readonly [name: string, warnings: readonly string[]]> {
  // Without its LIMIT, sql_select_limit = 0 would leave no row.
  const sql = `SELECT CONCAT('x', HEX(COALESCE(DATABASE(), ''))), @@sql_select_limit < 1000,
    FIND_IN_SET('SIMULTANEOUS_ASSIGNMENT', @@sql_mode) LIMIT 1`
  const [name = '', isLimited, position] = (await ask(sql)).rows[0] ?? []
  // So many rows are read by a statement without a LIMIT of its own.
  if (Number(isLimited) === 1) throw new StoreError('store_unavailable', SELECT_LIMIT)
  if (Number(position) > 0) throw new StoreError('store_unavailable', OTHER_ASSIGNMENT)
  return [UTF8.decode(bytesIn(name)), await unsafeSettings(ask)]
}

/** Warnings on the settings of a server. Other servers, which only speak the protocol, have no such variables. */
async function unsafeSettings(ask: Ask): Promise<readonly string[]> {
  try {
    const sql = 'SELECT @@innodb_flush_log_at_trx_commit, @@log_bin + 0, @@sync_binlog'
    const [atCommit, logged, flushed] = ((await ask(sql)).rows[0] ?? []).map(Number)
    return [
      // 0 and 2 write the log once a second.
      ...(atCommit === 0 || atCommit === 2 ? [lossBy('innodb_flush_log_at_trx_commit')] : []),
      // After a crash, what is not in the binary log is rolled back.
      ...(logged === 1 && flushed !== 1 ? [lossBy('sync_binlog')] : []),
    ]
  } catch {
    return []
  }
}

/** @throws StoreError when statements outside of a transaction are not committed */
export async function checkAutocommit(ask: Ask): Promise<void> {
  const [row] = (await ask('SELECT @@autocommit LIMIT 1')).rows
  const value = Number(row?.[0])
  if (value !== 0 && value !== 1) throw unexpectedRows()
  if (value === 0) throw new StoreError('store_unavailable', NO_AUTOCOMMIT)
}

function lossBy(variable: string): string {
  return `${variable} of this server is not 1. If its machine fails, the last committed transactions are lost, though they were acknowledged: the writes of handlers and failures with them, and events run again. Set it to 1.`
}

const UTF8 = new TextDecoder()
