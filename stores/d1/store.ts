import type { Purgeable, RemoteStore } from '../../src/index.js'
import { checkedFor, checkOptionNames } from '../../src/internal.js'
import { checkedStore } from '../lib/store-rules.js'
import { createPurger } from '../sql/purge.js'
import { type FoundColumn, missingFrom, ofAnotherVersion } from '../sql/sqlite-dialect/ddl.js'
import { claimResult, hostedTable, isCompleted } from '../sql/sqlite-dialect/hosted-table.js'
import { unavailable } from './advice.js'
import { checkDatabase, type D1Database, type D1Result, type D1Statement } from './database.js'

export interface D1StoreOptions {
  /** The name of its table. Default `tix_webhooks`. */
  table?: string | undefined
}

/** An idempotency store in a table of D1. */
export interface D1Store extends RemoteStore, Purgeable {
  /** Creates the table if it is missing. Workers have no start: call it once, or apply `ddl` as a migration. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for a migration of wrangler or for `env.DB.exec`: one statement a line. */
  readonly ddl: string
}

/**
 * Remembers handled events in Cloudflare D1, for all isolates of a Worker: one round trip for each call. It uses the clock of the
 * database. It does not forget by itself: call `purge` in a cron trigger.
 *
 * @param db a D1 binding, or a session of one; it may be kept for many requests
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * const store = d1Store(env.DB)
 * tixWebhooks({ secret, on, store, namespace: 'orders' })
 * await store.purge() // in `scheduled`, every few minutes
 * ```
 */
export function d1Store(db: D1Database, options: D1StoreOptions = {}): D1Store {
  return checkedFor(d1Store, () => createStore(db, options))
}

function createStore(db: D1Database, options: D1StoreOptions): D1Store {
  options = checkOptionNames(options, ['table'])
  checkDatabase(db)
  const table = options.table ?? 'tix_webhooks'
  const { name, plainName, key, createTable, createIndex, columns, sql } = hostedTable(table)

  async function run<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send()
    } catch (cause) {
      throw unavailable(cause)
    }
  }

  function statement(text: string, ...parameters: (string | number)[]): D1Statement {
    return db.prepare(text).bind(...parameters)
  }

  /** In one round trip and one transaction. */
  function runAll(...statements: D1Statement[]): Promise<readonly D1Result[]> {
    return run(() => db.batch(statements as never[]))
  }

  async function changes(text: string, ...parameters: (string | number)[]): Promise<number> {
    return (await run(() => statement(text, ...parameters).all())).results.length
  }

  const { purge } = createPurger((limit) => changes(sql.purge, limit))

  return checkedStore<D1Store>({
    async claim(request) {
      const { key, token, leaseMs, retainMs } = request
      const [claimed, found] = await runAll(
        statement(sql.claim, key, token, Math.ceil(leaseMs), Math.ceil(retainMs)),
        statement(sql.find, key),
      )
      return claimResult(claimed?.results ?? [], found?.results ?? [])
    },

    async renew({ key, token }, leaseMs) {
      return (await changes(sql.renew, key, token, Math.ceil(leaseMs))) === 1
    },

    async complete({ key, token }, retainMs) {
      return (await changes(sql.complete, key, token, Math.ceil(retainMs))) === 1
    },

    async release({ key, token }) {
      return (await changes(sql.release, key, token)) === 1
    },

    async isHandled(key) {
      return isCompleted((await run(() => statement(sql.find, key).all())).results)
    },

    async check() {
      // As a delivery does, because nothing less finds a full database; with a key that no event has.
      await runAll(statement(sql.claim, '', '', 0, 0), statement(sql.forget, ''))
    },

    purge,

    async migrate() {
      const [, found] = await runAll(
        statement(createTable),
        statement('SELECT name, pk FROM pragma_table_info(?1)', plainName),
      )
      const missing = missingFrom((found?.results ?? []) as FoundColumn[], columns, key)
      if (missing.length > 0) throw ofAnotherVersion(name, missing)
      await runAll(statement(createIndex))
    },

    ddl: `${inOneLine(createTable)}${inOneLine(createIndex)}`,
  })
}

/** The `exec` of D1 takes each line for a statement. */
function inOneLine(statement: string): string {
  return `${statement.replaceAll(/\s+/g, ' ').trim()}\n`
}
