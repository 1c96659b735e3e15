import type { ClaimResult } from '../../src/index.js'
import { OBJECT_PURGE_MS } from '../../src/internal.js'
import { claimResult, hostedTable, isCompleted } from '../sql/sqlite-dialect/hosted-table.js'
import type { DurableObjectState, DurableObjectStorage } from './cloudflare.js'
import type { ObjectCall } from './protocol.js'

const { name, createTable, createIndex, sql } = hostedTable('tix_webhooks')

const PURGE_LIMIT = 1_000

/**
 * The Durable Object that keeps a part of the records of `durableObjectStore`, in its SQLite storage. Export it from your Worker, bind
 * it, and list it in `new_sqlite_classes`. An alarm deletes records past their retention.
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
  private hasAlarm = false

  constructor(state: DurableObjectState) {
    this.storage = state.storage
    this.run(createTable)
    this.run(createIndex)
  }

  /** Answers a call of the store. Nothing is awaited between its statements, so that no other call comes in between. */
  async fetch(request: Request): Promise<Response> {
    const call = (await request.json()) as ObjectCall
    const result = this.perform(call)
    if (!this.hasAlarm) await this.setAlarm()
    return Response.json({ result })
  }

  /** Called by the platform: deletes records past their retention. If it throws, the platform retries it. */
  async alarm(): Promise<void> {
    this.hasAlarm = false
    const purged = this.run(sql.purge, PURGE_LIMIT)
    if (purged.length === PURGE_LIMIT) await this.storage.setAlarm(Date.now())
    else await this.setAlarm()
  }

  private perform({ method, key, token, leaseMs, retainMs }: ObjectCall): ClaimResult | boolean {
    switch (method) {
      case 'claim':
        return claimResult(this.run(sql.claim, key, token, leaseMs, retainMs), this.run(sql.find, key))
      case 'renew':
        return this.run(sql.renew, key, token, leaseMs).length === 1
      case 'complete':
        return this.run(sql.complete, key, token, retainMs).length === 1
      case 'release':
        return this.run(sql.release, key, token).length === 1
      case 'isHandled':
        return isCompleted(this.run(sql.find, key))
      case 'check':
        // As a delivery does, because nothing less finds a full database. No event has this key, and no call comes in between.
        this.run(sql.claim, key, token, leaseMs, retainMs)
        return this.run(sql.forget, key).length === 0
    }
  }

  private run(statement: string, ...parameters: (string | number)[]): unknown[] {
    return this.storage.sql.exec(statement, ...(parameters as never[])).toArray()
  }

  /** For the record that ends first. An object without records sleeps. */
  private async setAlarm(): Promise<void> {
    const [row] = this.run(`SELECT min(expires_at) AS first FROM ${name}`) as { first: number | null }[]
    if (row?.first == null) return
    if ((await this.storage.getAlarm()) === null) {
      await this.storage.setAlarm(Math.max(row.first, Date.now() + OBJECT_PURGE_MS))
    }
    this.hasAlarm = true
  }
}
