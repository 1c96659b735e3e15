import { StoreError } from '../../src/index.js'
import { bytesIn, sharedMap, unexpectedRows } from '../../src/internal.js'
import { NO_AUTOCOMMIT } from './advice.js'
import type { Ask } from './drivers/driver.js'
import { quote } from './sql.js'

/** The database that a pool is connected to, looked up once. */
export interface Database {
  /** Quoted, and with a dot; empty until it is known. */
  readonly prefix: string
  /**
   * Looks it up, unless it is known. It warns once if the server can lose confirmed writes.
   *
   * @throws StoreError when the connections do not commit by themselves
   */
  find(ask: Ask): Promise<void>
}

/** The database of a pool, or of a driver. A handler may leave a connection with another one by USE. */
export function databaseOf(pool: object): Database {
  const known = sharedMap<object, Database>('mysql databases')
  const found = known.get(pool) ?? createDatabase(configured(pool))
  known.set(pool, found)
  return found
}

/** The database that a pool of mysql2 is configured with: the app may have left its first connection with another one. */
function configured(pool: object): string | undefined {
  const { config } =
    (pool as { pool?: { config?: { connectionConfig?: { database?: unknown } } } }).pool ?? {}
  const database = config?.connectionConfig?.database
  return typeof database === 'string' && database !== '' ? database : undefined
}

function createDatabase(given: string | undefined): Database {
  let prefix: string | undefined
  return {
    get prefix() {
      return prefix ?? ''
    },
    async find(ask) {
      if (prefix !== undefined) return
      const [found, isFlushed] = await askOnce(ask)
      const name = given ?? found
      if (prefix !== undefined) return
      prefix = name === '' ? '' : `${quote(name)}.`
      if (!isFlushed) warnOfLoss()
    },
  }
}

async function askOnce(ask: Ask): Promise<readonly [name: string, isFlushed: boolean]> {
  const [row] = (await ask("SELECT CONCAT('x', HEX(COALESCE(DATABASE(), '')))")).rows
  const name = UTF8.decode(bytesIn(row?.[0]))
  return [name, await isFlushedAtCommit(ask)]
}

/** 0 and 2 write the log once a second. Other servers, which only speak the protocol, have no such variable. */
async function isFlushedAtCommit(ask: Ask): Promise<boolean> {
  try {
    const [row] = (await ask('SELECT @@innodb_flush_log_at_trx_commit')).rows
    return !['0', '2'].includes(String(row?.[0]))
  } catch {
    return true
  }
}

/** @throws StoreError when statements outside of a transaction are not committed */
export async function checkAutocommit(ask: Ask): Promise<void> {
  const [row] = (await ask('SELECT @@autocommit')).rows
  const value = Number(row?.[0])
  if (value !== 0 && value !== 1) throw unexpectedRows()
  if (value === 0) throw new StoreError('store_unavailable', NO_AUTOCOMMIT)
}

function warnOfLoss(): void {
  console.warn(
    'tix-webhooks: innodb_flush_log_at_trx_commit of this server is not 1. If its machine fails, up to a second of committed transactions is lost, though they were acknowledged: the writes of handlers and failures with them, and events run again. Set it to 1.',
  )
}

const UTF8 = new TextDecoder()
