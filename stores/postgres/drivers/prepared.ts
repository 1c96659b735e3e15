import { STATEMENT_MS } from '../../../src/internal.js'
import { hexOf } from '../../sql/kept-text.js'
import { isOfStandby } from '../advice.js'
import { answered, type Row } from './driver.js'

/** The part of a result of `pg` that is used. */
export interface PgResult {
  readonly rows: Row[]
  readonly command: string
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

/** A transaction on a client: its first statement begins it. */
export interface PgTransaction<Client extends PgQueryable = PgQueryable> {
  readonly client: Client
  isBegun: boolean
}

export interface PreparedStatements {
  /** Sends a statement by its name, or as text if the connection does not know that. */
  send(on: PgQueryable, text: string, parameters: readonly unknown[]): Promise<PgResult>
  /** The same for a first statement of a transaction: before it, the transaction can be rolled back and begun again. */
  sendFirst(tx: PgTransaction, text: string, parameters: readonly unknown[]): Promise<PgResult>
}

/**
 * Parsing and planning a claim costs the server three times as much as running it, so it is done once for each connection. BEGIN and the first
 * statement travel in one message, once the connection has that statement prepared: SQL can execute by its name what `pg` has prepared by the
 * protocol.
 *
 * A connection of `pg` need not be one of the server: behind PgBouncer each transaction can have another one, which does not have
 * the name, or has it from another client. DISCARD ALL removes names, and a changed table makes old plans useless. The server
 * reports all of that before it does anything, so the statement can be sent again, without a name; and because it is likely to
 * happen again, no statement has a name from then on.
 */
export function preparedStatements(): PreparedStatements {
  const names = new Map<string, string>()
  const namesOn = new WeakMap<PgQueryable, Set<string>>()
  let isNaming = true

  function nameOf(text: string): string {
    const name = names.get(text) ?? `tix_webhooks_${hash(text)}`
    names.set(text, name)
    return name
  }

  /** @returns nothing if the connection does not know a name */
  async function byName<T>(send: () => Promise<T>): Promise<T | undefined> {
    if (!isNaming) return undefined
    try {
      return await send()
    } catch (error) {
      if (!isUnusable(error)) throw error
      isNaming = false
      return undefined
    }
  }

  const statementOf = (text: string, parameters: readonly unknown[]): PgStatement => ({
    text,
    values: [...parameters],
    query_timeout: STATEMENT_MS,
  })
  const named = (on: PgQueryable, text: string, parameters: readonly unknown[]) => () =>
    on.query({ name: nameOf(text), ...statementOf(text, parameters) })

  return {
    send: async (on, text, parameters) =>
      (await byName(named(on, text, parameters))) ?? on.query(statementOf(text, parameters)),
    async sendFirst(tx, text, parameters) {
      const { client } = tx
      if (isNaming) {
        const known = namesOn.get(client) ?? new Set()
        namesOn.set(client, known)
        const isMerged = !tx.isBegun && known.has(nameOf(text))
        if (!isMerged) await ensureBegun(tx)
        tx.isBegun = true
        const result = await byName(
          isMerged
            ? () => beginAndExecute(client, nameOf(text), parameters)
            : named(client, text, parameters),
        )
        if (result !== undefined) {
          known.add(nameOf(text))
          return result
        }
        await answered(STATEMENT_MS, client.query('ROLLBACK'))
        tx.isBegun = false
      }
      await ensureBegun(tx)
      return client.query(statementOf(text, parameters))
    },
  }
}

/** Begins the transaction by itself, if it has not begun. */
export async function ensureBegun(tx: PgTransaction): Promise<void> {
  if (tx.isBegun) return
  tx.isBegun = true
  await answered(STATEMENT_MS, tx.client.query('BEGIN'))
}

async function beginAndExecute(
  client: PgQueryable,
  name: string,
  parameters: readonly unknown[],
): Promise<PgResult> {
  // Postgres takes no empty list.
  const list = parameters.length === 0 ? '' : `(${parameters.map(literal).join(', ')})`
  const text = `BEGIN; EXECUTE ${name}${list}`
  // Two statements have two results.
  const results: PgResult | PgResult[] = await answered(STATEMENT_MS, client.query(text))
  return [results].flat().at(-1) as PgResult
}

/**
 * Text with anything but these characters goes in hexadecimal digits: they mean the same in every encoding and with every setting of the
 * server, so that no text of a sender can end the literal. Most keys have nothing else, and can be read in the logs of the server.
 */
function literal(value: unknown): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') throw new TypeError('A parameter must be text.')
  if (/^[A-Za-z0-9_./: -]*$/.test(value)) return `'${value}'`
  return `pg_catalog.convert_from(pg_catalog.decode('${hexOf(UTF8.encode(value))}', 'hex'), 'UTF8')`
}

const UTF8 = new TextEncoder()

/** A name is missing or taken, or a plan no longer fits; the last two cases are the words of PgBouncer and of `pg`. */
function isUnusable(error: unknown): boolean {
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
