import { OBJECT_PURGE_MS } from '../../src/internal.js'
import { ledgerStore } from '../sql/ledger.js'
import { DEFAULT_TABLE } from '../sql/options.js'
import { createPurger } from '../sql/purge.js'
import { eventsDdl } from '../sql/sqlite-dialect/ddl.js'
import { HOSTED, statementsFor } from '../sql/sqlite-dialect/statements.js'
import { ledgerTable, parametersOf, type SyncTable, syncTable } from '../sql/sqlite-dialect/table.js'
import type { DurableObjectState, DurableObjectStorage } from './cloudflare.js'
import { decode, encode, type ObjectCall } from './protocol.js'

const PURGE_LIMIT = 1_000

type Methods = Readonly<Record<string, (...args: never[]) => unknown>>

/**
 * The Durable Object that keeps a part of the events of `durableObjectStore`, in its SQLite storage. Export it from your Worker, bind
 * it, and list it in `new_sqlite_classes`. An alarm deletes events past their retention.
 *
 * @example
 * ```ts
 * import { TixWebhooksObject } from 'tix-webhooks/durable-object'
 *
 * export { TixWebhooksObject }
 * ```
 */
export class TixWebhooksObject {
  /** Only a type: Cloudflare's types ask for it where `wrangler types` writes `DurableObjectNamespace<TixWebhooksObject>`. */
  declare readonly __DURABLE_OBJECT_BRAND: never
  private readonly storage: DurableObjectStorage
  private readonly methods: Methods
  private readonly purge: (options?: { readonly limit?: number }) => Promise<number>
  private hasAlarm = false

  constructor(state: DurableObjectState) {
    this.storage = state.storage
    const { name, createTable, createIndexes } = eventsDdl(DEFAULT_TABLE)
    for (const text of [createTable, ...createIndexes]) this.run(text)
    const table = syncTable(name, statementsFor(name, HOSTED), (statement, values) =>
      this.run(statement.text, ...parametersOf(statement, values)),
    )
    this.purge = createPurger(async (limit, minAgeMs) => table.purge(limit, minAgeMs), false).purge
    this.methods = methodsOf(table, this.purge)
  }

  /** Answers a call of the store. */
  async fetch(request: Request): Promise<Response> {
    const { method, args } = decode(await request.text()) as ObjectCall
    const call = Object.hasOwn(this.methods, method) ? this.methods[method] : undefined
    // Of a newer version: the store finds no result in the answer.
    if (call === undefined) return new Response(encode({}))
    const result = await call(...(args as never[]))
    if (!this.hasAlarm) await this.setAlarm()
    return new Response(encode({ result: result ?? null }))
  }

  /** Called by the platform: deletes events past their retention. If it throws, the platform retries it. */
  async alarm(): Promise<void> {
    this.hasAlarm = false
    if ((await this.purge({ limit: PURGE_LIMIT })) === PURGE_LIMIT) await this.storage.setAlarm(Date.now())
    else await this.setAlarm()
  }

  private run(text: string, ...parameters: unknown[]): unknown[] {
    return this.storage.sql.exec(text, ...(parameters as never[])).toArray()
  }

  /** For the oldest event. An object without events sleeps. */
  private async setAlarm(): Promise<void> {
    const oldest = `SELECT expires_at AS ends FROM ${DEFAULT_TABLE} ORDER BY received_at, event_key LIMIT 1`
    const [row] = this.run(oldest) as { ends: number }[]
    if (row === undefined) return
    if ((await this.storage.getAlarm()) === null) {
      await this.storage.setAlarm(Math.max(row.ends, Date.now() + OBJECT_PURGE_MS))
    }
    this.hasAlarm = true
  }
}

/** Each call has its statements run before another call comes in between. */
function methodsOf(table: SyncTable, purge: Methods[string]): Methods {
  const { ledger, ...store } = ledgerStore(ledgerTable(table, async (step) => step()))
  const methods: object = { ...store, ...ledger, purge, check: table.tryWrite }
  return methods as Methods
}
