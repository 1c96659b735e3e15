import { STATEMENT_MS } from '../../../src/internal.js'
import { isOfStandby } from '../advice.js'
import type { Row } from './driver.js'

/** The part of a result of `pg` that is used. */
export interface PgResult {
  readonly rows: Row[]
  readonly command: string
  readonly rowCount: number | null
}

/** A statement with a name: `pg` has it parsed on each connection once, and Postgres plans it once. */
interface PgStatement {
  readonly name?: string
  readonly text: string
  readonly values: unknown[]
  /** The longest that `pg` waits for the answer, in milliseconds. */
  readonly query_timeout?: number
}

/** A pool of `pg`, or a client of one. */
export interface PgQueryable {
  query(statement: string | PgStatement, parameters?: unknown[]): Promise<PgResult>
}

export interface PreparedStatements {
  /** Sends a statement by its name. If the connection does not know the name: calls `beforeRetry`, and sends that and all others as text. */
  send(
    client: PgQueryable,
    text: string,
    parameters: readonly unknown[],
    beforeRetry?: () => Promise<unknown>,
  ): Promise<PgResult>
  /** The name by which a statement is sent; nothing once all are sent as text. */
  nameOf(text: string): string | undefined
}

/**
 * Parsing and planning a claim costs the server three times as much as running it, so it is done once for each connection.
 *
 * A connection of `pg` need not be one of the server: behind PgBouncer each transaction can have another one, which does not have
 * the name, or has it from another client. DISCARD ALL removes names, and a changed table makes old plans useless. The server
 * reports all of that before it does anything, so the statement can be sent again, without a name; and because it is likely to
 * happen again, no statement has a name from then on.
 */
export function preparedStatements(): PreparedStatements {
  const names = new Map<string, string>()
  let isNaming = true

  function nameOf(text: string): string {
    const name = names.get(text) ?? `tix_webhooks_${hash(text)}`
    names.set(text, name)
    return name
  }

  return {
    nameOf: (text) => (isNaming ? nameOf(text) : undefined),
    async send(client, text, parameters, beforeRetry) {
      const values = [...parameters]
      const statement = { text, values, query_timeout: STATEMENT_MS }
      if (!isNaming) return client.query(statement)
      try {
        return await client.query({ name: nameOf(text), ...statement })
      } catch (error) {
        if (!isUnusable(error)) throw error
      }
      isNaming = false
      await beforeRetry?.()
      return client.query(statement)
    },
  }
}

/** A name is missing or taken, or a plan no longer fits; the last two cases are the words of PgBouncer and of `pg`. */
export function isUnusable(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code === '26000' || code === '42P05' || (code === '0A000' && !isOfStandby(error))) return true
  return (code === '08P01' || code === undefined) && /prepared statement/i.test(String(message))
}

/** FNV-1a, 64 bits. Another text must have another name: clients of several versions can share a connection of PgBouncer. */
function hash(text: string): string {
  let digest = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++) {
    digest = BigInt.asUintN(64, (digest ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n)
  }
  return digest.toString(16).padStart(16, '0')
}
