import { isObject } from './data.js'

type Methods = Partial<Record<string, (...args: unknown[]) => unknown>>

/** Their result is a connection of a pool, or a transaction. */
const GIVEN_BACK = ['release', 'rollback'] as const
/** Not `commit`, which may be a command that is executed later: to roll back a transaction that has ended changes nothing. */
const ENDS = new Set<PropertyKey>(['release', 'end', 'destroy', 'close'])

const has = (value: Methods, ...names: readonly string[]): boolean =>
  names.every((name) => typeof value[name] === 'function')

/**
 * The connections and transactions that a process has opened on a pool that outlives it. When the process dies, they end as if it had
 * been killed: the connection is closed, or the transaction is rolled back.
 */
export class OpenConnections {
  private readonly objects = new Set<Methods>()
  /** Connections in a transaction that was begun by hand, and the method that sent its BEGIN. */
  private readonly begun = new Map<Methods, string>()

  /** Notes a result of a call. */
  take(value: unknown, ...ends: readonly string[]): void {
    if (
      isObject(value) &&
      (ends.length > 0 ? ends : GIVEN_BACK).some((name) => has(value as Methods, name))
    ) {
      this.objects.add(value as Methods)
    }
  }

  /** Notes a call that may release something, or begin or end a transaction by hand. */
  called(target: unknown, method: PropertyKey, [statement]: readonly unknown[]): void {
    if (!isObject(target)) return
    if (ENDS.has(method)) this.objects.delete(target as Methods)
    const text = textOf(statement)
    if (BEGINS.test(text)) this.begun.set(target as Methods, String(method))
    else if (FINISHES.test(text)) this.begun.delete(target as Methods)
  }

  async giveUp(): Promise<void> {
    const objects = [...this.objects]
    const begun = [...this.begun].filter(([one]) => !this.objects.has(one))
    this.objects.clear()
    this.begun.clear()
    await Promise.all([...objects.map(giveUp), ...begun.map(rollBack)])
  }
}

const BEGINS = /^\s*(BEGIN|START\s+TRANSACTION)\b/i
const FINISHES = /^\s*(COMMIT|END|ROLLBACK(?!\s+(TRANSACTION\s+|WORK\s+)?TO)|ABORT)\b/i

/** The SQL of a call that sends a statement: a string, or an object with one, as pg takes it. */
function textOf(statement: unknown): string {
  const { text = statement } = (statement ?? {}) as { text?: unknown }
  return typeof text === 'string' ? text : ''
}

/** Ends a transaction on a connection that the processes share, by the method that began it. */
async function rollBack([connection, method]: readonly [Methods, string]): Promise<void> {
  try {
    await connection[method === 'prepare' ? 'exec' : method]?.('ROLLBACK')
  } catch {}
}

/** A connection that is broken or closed already may refuse. */
async function giveUp(held: Methods): Promise<void> {
  try {
    if (has(held, 'release', 'destroy')) await held.destroy?.()
    // With true, pg closes the connection; a pool without such a parameter takes it back.
    else if (has(held, 'release')) await held.release?.(true)
    else {
      const rollback = held.rollback?.()
      // Kysely's returns a command.
      await (isObject(rollback) && has(rollback as Methods, 'execute')
        ? (rollback as Methods).execute?.()
        : rollback)
    }
  } catch {}
}
