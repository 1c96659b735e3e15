import type { HandlerScope } from '../../sql/handler-scope.js'
import { hasMethod } from '../../sql/not-a-pool.js'
import { nextPoll } from './next-poll.js'

/** The part of a query of postgres.js that is used: it is sent, by its handler, when it is first awaited. */
interface PendingQuery extends PromiseLike<unknown> {
  handler: ((query: PendingQuery) => unknown) & { readonly debug?: unknown }
  reject: (error: unknown) => unknown
  readonly executed: boolean
}

/** The queries of one transaction. */
export interface PendingQueries {
  /**
   * Keeps a query from a connection that is not its own any more. postgres.js rejects the queries of a connection that ends, and uses
   * the same object again: a handler that goes on would send the next query before that is connected, which ends the process, or in the
   * transaction of another delivery. It refuses cursors and COPY: one that a handler leaves open takes no ROLLBACK, and keeps the connection.
   */
  watch(result: unknown): void
  /** Resolves when postgres.js knows whether a sign of a loss was one: nothing is sent before. `undefined` if there was none. */
  readonly doubted: Promise<void> | undefined
}

export function pendingQueries(scope: HandlerScope): PendingQueries {
  let doubted: Promise<void> | undefined

  function watch(result: unknown): void {
    if (!hasMethod(result, 'handler') || !hasMethod(result, 'reject')) return
    const query = result as PendingQuery
    const { handler, reject } = query

    function send(): unknown {
      const refusal = scope.refusal()
      return refusal === undefined ? handler(query) : query.reject(refusal)
    }

    query.handler = Object.assign(() => (doubted === undefined ? send() : void doubted.then(send)), {
      debug: handler.debug,
    })
    query.reject = (error) => {
      // An error of the server leaves the connection as it was.
      if ((error as { severity?: unknown } | undefined)?.severity === undefined) {
        doubted ??= nextPoll().then(() => {
          doubted = undefined
        })
      }
      return reject(error)
    }
    Object.assign(query, { cursor: refuse, readable: refuse, writable: refuse })
    scope.failed.catch((error) => {
      if (query.executed) query.reject(error)
    })
  }

  return {
    watch,
    get doubted() {
      return doubted
    },
  }
}

function refuse(): never {
  throw new TypeError(
    'ctx.tx of postgres.js takes no cursor and no COPY, which would keep its connection if the handler left them open: read all rows at once, or use a Pool of pg.',
  )
}
