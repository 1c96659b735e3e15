import { hasMethod, type ScopeState } from '../../../src/internal.js'

/** The part of a query of postgres.js that is used: it is sent, by its handler, when it is first awaited. */
interface PendingQuery extends PromiseLike<unknown> {
  handler: ((query: PendingQuery) => unknown) & { readonly debug?: unknown }
  reject: (error: unknown) => unknown
  cursorFn?: (rows: unknown) => unknown
  readonly executed: boolean
}

/**
 * Keeps a query of a transaction from a connection that is not its own any more. postgres.js rejects the queries of a connection that ends,
 * and uses the same object again: a handler that goes on would send the next query before that is connected, which ends the process, or in the
 * transaction of another delivery; and a query whose rows it reads in parts would stay pending.
 */
export function watchQuery(result: unknown, scope: ScopeState): void {
  if (!hasMethod(result, 'handler') || !hasMethod(result, 'reject')) return
  const query = result as PendingQuery
  const { handler } = query

  function send(): unknown {
    const refusal = scope.refusal()
    return refusal === undefined ? handler(query) : query.reject(refusal)
  }

  query.handler = Object.assign(
    () => (scope.doubted === undefined ? send() : void scope.doubted.then(send)),
    { debug: handler.debug },
  )
  replace(query, 'reject', (reject) => (error) => {
    // An error of the server leaves the connection as it was.
    if ((error as { severity?: unknown } | undefined)?.severity === undefined) scope.doubt()
    return reject(error)
  })
  replace(query, 'cursorFn', (read) => (rows) => {
    const more = read?.(rows)
    if (typeof (more as { then?: unknown } | undefined)?.then !== 'function') return more
    // After a loss, postgres.js has no query to go on with.
    return Promise.resolve(more).then((value) =>
      scope.refusal() === undefined ? value : new Promise(() => {}),
    )
  })
  scope.failed.catch((error) => {
    if (query.executed) query.reject(error)
  })
}

/** Wraps a function that postgres.js sets on the query, now or later. */
function replace<Name extends 'reject' | 'cursorFn'>(
  query: PendingQuery,
  name: Name,
  wrap: (original: PendingQuery[Name]) => PendingQuery[Name],
): void {
  let wrapped = query[name] && wrap(query[name])
  Object.defineProperty(query, name, {
    get: () => wrapped,
    set(original: PendingQuery[Name]) {
      wrapped = wrap(original)
    },
  })
}
