import type { Row } from './driver.js'

/** What is used of a result of `pg`. */
export interface PgResult {
  readonly rows: Row[]
  readonly command: string
  readonly rowCount: number | null
}

/** A statement with a name: `pg` has it parsed on each connection once, and Postgres plans it once. */
export interface PgStatement {
  readonly name?: string
  readonly text: string
  readonly values: unknown[]
  /** How long `pg` waits for the answer, in milliseconds. */
  readonly query_timeout?: number
}

/** A pool of `pg`, or a client of one. */
export interface PgQueryable {
  query(statement: string | PgStatement, parameters?: unknown[]): Promise<PgResult>
}

export interface PreparedStatements {
  /** Sends a statement by its name. Where the connection does not know it: calls `again`, and sends that and all others as text. */
  send(client: PgQueryable, text: string, parameters: readonly unknown[], again?: Again): Promise<PgResult>
}

/** What has to be done before a statement that has failed can be sent once more. */
type Again = () => Promise<unknown>

/** After it, a connection is taken for dead: one that fell silent, as when a machine vanishes, would keep its slot for ever. */
const ANSWER_MS = 10_000

/**
 * Parsing and planning a claim costs the server thrice what running it does, so it is done once for each connection.
 *
 * A connection of `pg` need not be one of the server: behind PgBouncer each transaction can have another one, that has not the
 * name, or has it from another client. DISCARD ALL takes names away, and a changed table makes old plans useless. All of that
 * the server says before it does anything, so the statement can be sent again, without a name; and it may come again and
 * again, so that is how it stays.
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
    async send(client, text, parameters, again) {
      const values = [...parameters]
      const statement = { text, values, query_timeout: ANSWER_MS }
      if (!isNaming) return client.query(statement)
      try {
        return await client.query({ name: nameOf(text), ...statement })
      } catch (error) {
        if (!isUnusable(error)) throw error
      }
      isNaming = false
      await again?.()
      return client.query(statement)
    },
  }
}

/** A name that is missing, one that is taken, and a plan that no longer fits; then what PgBouncer says, and `pg`. */
function isUnusable(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code === '26000' || code === '42P05' || code === '0A000') return true
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
