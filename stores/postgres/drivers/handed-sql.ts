import { StoreError } from '../../../src/index.js'
import { ignoreRejection } from '../../../src/internal.js'
import { type HandlerScope, IN_TRANSACTION, refused } from '../../sql/handler-scope.js'
import { nextTurn } from '../../sql/lost.js'
import { ENDS_OR_BEGINS } from './ending.js'
import type { PendingQueries } from './pending-query.js'

type Callable = (...given: unknown[]) => unknown

/** The part of a transaction of postgres.js that is used here: a function, whose first argument is a template or no query. */
type Sql = Callable & { savepoint(...given: unknown[]): Promise<unknown> }

/** What handlers get of a transaction of postgres.js. */
export interface HandedSql {
  bind<Tx extends object>(tx: Tx): Tx
  /** @throws StoreError when a savepoint is open */
  refuseOpen(): void
}

/**
 * It refuses what would end or begin a transaction, and all queries after the end of the handler. After a loss postgres.js uses the same
 * connection again, and leaves the promise of a savepoint pending: it rejects here, and postgres.js never learns of the end of its work, so
 * that it does not send the end of a savepoint.
 */
export function handedSql(scope: HandlerScope, queries: PendingQueries): HandedSql {
  let running = 0

  function bind(sql: Sql): Sql {
    return new Proxy(sql, {
      apply: (_, self, given: unknown[]) => send(sql, self, given, rawOf(given[0])?.[0]),
      get(_, name) {
        const value: unknown = Reflect.get(sql, name)
        if (typeof value !== 'function') return value
        if (name === 'savepoint') return (...given: unknown[]) => watched(savepoint(sql, given))
        return (...given: unknown[]) =>
          send(value as Callable, sql, given, name === 'unsafe' ? given[0] : undefined)
      },
    })
  }

  function send(method: Callable, self: unknown, given: unknown[], text: unknown): unknown {
    const refusal = scope.refusal()
    if (refusal !== undefined) return refused(refusal)
    if (typeof text === 'string' && ENDS_OR_BEGINS.test(text)) throw new TypeError(IN_TRANSACTION)
    const result = Reflect.apply(method, self, given)
    queries.watch(result)
    return result
  }

  async function savepoint(sql: Sql, given: unknown[]): Promise<unknown> {
    running++
    try {
      // It begins with a statement of the library's own.
      if (queries.doubted !== undefined) await queries.doubted
      const refusal = scope.refusal()
      if (refusal !== undefined) throw refusal
      const isTemplate = rawOf(given[0]) !== undefined
      const all = isTemplate ? [(inner: Sql) => inner(...given)] : given
      const bound = all.map((one) => (typeof one === 'function' ? within(one as Callable) : one))
      return await Promise.race([sql.savepoint(...bound), scope.failed])
    } finally {
      running--
    }
  }

  /** A branch that nobody awaits any more is no unhandled rejection. */
  function watched(result: Promise<unknown>): Promise<unknown> {
    scope.failed.catch(() => ignoreRejection(result))
    return result
  }

  function within(work: Callable): Callable {
    return async (inner) => {
      if (scope.refusal() !== undefined) return new Promise(() => {})
      try {
        return await work(bind(inner as Sql))
      } finally {
        // The work may learn of the end or the loss first, and the library by the end of the same turn.
        await nextTurn()
        if (scope.refusal() !== undefined) await new Promise(() => {})
      }
    }
  }

  return {
    bind: (tx) => bind(tx as unknown as Sql) as unknown as typeof tx,
    refuseOpen() {
      if (running > 0) throw new StoreError('rolled_back', LEFT_RUNNING)
    },
  }
}

function rawOf(template: unknown): readonly string[] | undefined {
  return (template as { raw?: readonly string[] } | undefined)?.raw
}

const LEFT_RUNNING =
  'The handler returned while a savepoint of ctx.tx was open. Nothing is kept, and the event runs again: await what ctx.tx.savepoint() returns.'
