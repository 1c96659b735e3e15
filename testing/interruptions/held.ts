import { isObject } from './data.js'

type Methods = Partial<Record<string, (...args: unknown[]) => unknown>>

/** Of these, a result is a connection of a pool, or a transaction. */
const GIVEN_BACK = ['release', 'rollback'] as const
/** Not `commit`, which may be a command that is executed later: to roll back a transaction that has ended changes nothing. */
const ENDS = new Set<PropertyKey>(['release', 'end', 'destroy', 'close'])

const has = (value: Methods, ...names: readonly string[]): boolean =>
  names.every((name) => typeof value[name] === 'function')

/**
 * The connections and transactions that a process has opened on a pool that outlives it. When the process dies they end as those of a
 * killed one: the connection is closed, or the transaction is rolled back.
 */
export class Held {
  private readonly objects = new Set<Methods>()

  /** Notes a result of a call. */
  take(value: unknown, ...ends: readonly string[]): void {
    if (
      isObject(value) &&
      (ends.length > 0 ? ends : GIVEN_BACK).some((name) => has(value as Methods, name))
    ) {
      this.objects.add(value as Methods)
    }
  }

  /** Notes a call: it may give back what the process held, or begin a transaction by hand on the one connection of SQLite. */
  called(target: unknown, method: PropertyKey): void {
    if (!isObject(target)) return
    if (ENDS.has(method)) this.objects.delete(target as Methods)
    else if (has(target as Methods, 'prepare', 'exec')) this.objects.add(target as Methods)
  }

  async giveUp(): Promise<void> {
    const objects = [...this.objects]
    this.objects.clear()
    await Promise.all(objects.map(giveUp))
  }
}

/** A connection that is broken or closed already may refuse. */
async function giveUp(held: Methods): Promise<void> {
  try {
    if (has(held, 'exec')) await held.exec?.('ROLLBACK')
    else if (has(held, 'release', 'destroy')) await held.destroy?.()
    // pg closes the connection for a true; of a pool that knows no such parameter it is given back.
    else if (has(held, 'release')) await held.release?.(true)
    else {
      const rollback = held.rollback?.()
      // Kysely's is a command.
      await (isObject(rollback) && has(rollback as Methods, 'execute')
        ? (rollback as Methods).execute?.()
        : rollback)
    }
  } catch {}
}
