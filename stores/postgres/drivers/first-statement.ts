import { STATEMENT_MS } from '../../../src/internal.js'
import { answered } from './answered.js'
import { literal } from './literal.js'
import { isUnusable, type PgQueryable, type PgResult, type PreparedStatements } from './prepared.js'

/** A transaction on a client: its first statement begins it. */
export interface PgTransaction<Client extends PgQueryable = PgQueryable> {
  readonly client: Client
  isBegun: boolean
}

/** Sends a first statement of a transaction: before it, the transaction can be rolled back and begun again. */
export type SendFirst = (tx: PgTransaction, text: string, parameters: readonly unknown[]) => Promise<PgResult>

/**
 * BEGIN and the first statement travel in one message, once the connection has that statement prepared: SQL can execute by its name what
 * `pg` has prepared by the protocol. If the connection has lost the name, as behind PgBouncer or after DISCARD ALL, nothing is done yet:
 * that is rolled back, and from then on BEGIN is a message of its own.
 */
export function firstStatements(prepared: PreparedStatements): SendFirst {
  const namesOn = new WeakMap<PgQueryable, Set<string>>()
  let isMerging = true

  async function sendPrepared(
    client: PgQueryable,
    text: string,
    parameters: readonly unknown[],
  ): Promise<PgResult> {
    const result = await prepared.send(client, text, parameters, async () => {
      await rollBack(client)
      await begin(client)
    })
    const name = prepared.nameOf(text)
    if (name !== undefined) {
      const names = namesOn.get(client) ?? new Set()
      namesOn.set(client, names.add(name))
    }
    return result
  }

  return async function sendFirst(tx, text, parameters) {
    const { client } = tx
    if (tx.isBegun) return sendPrepared(client, text, parameters)
    tx.isBegun = true
    const name = isMerging ? prepared.nameOf(text) : undefined
    if (name !== undefined && namesOn.get(client)?.has(name)) {
      try {
        return await beginAndExecute(client, name, parameters)
      } catch (error) {
        if (!isUnusable(error)) throw error
      }
      isMerging = false
      await rollBack(client)
    }
    await begin(client)
    return sendPrepared(client, text, parameters)
  }
}

/** Begins the transaction by itself, if it has not begun. */
export async function ensureBegun(tx: PgTransaction): Promise<void> {
  if (tx.isBegun) return
  tx.isBegun = true
  await begin(tx.client)
}

async function begin(client: PgQueryable): Promise<void> {
  await answered(STATEMENT_MS, client.query('BEGIN'))
}

async function rollBack(client: PgQueryable): Promise<void> {
  await answered(STATEMENT_MS, client.query('ROLLBACK'))
}

async function beginAndExecute(
  client: PgQueryable,
  name: string,
  parameters: readonly unknown[],
): Promise<PgResult> {
  const text = `BEGIN; EXECUTE ${name}(${parameters.map(literal).join(', ')})`
  // Two statements have two results.
  const results: PgResult | PgResult[] = await answered(STATEMENT_MS, client.query(text))
  return [results].flat().at(-1) as PgResult
}
