import { deferred } from '../../../src/internal.js'
import { hasMethod } from '../../sql/has-method.js'
import type { ScopeState } from '../../sql/transaction-scope.js'

/** The part of a query of postgres.js that is used: it is sent, by its handler, when it is first awaited. */
interface PendingQuery extends PromiseLike<unknown> {
  handler: ((query: PendingQuery) => unknown) & { readonly debug?: unknown }
  resolve: (value: unknown) => unknown
  reject: (error: unknown) => unknown
  cursorFn?: (rows: unknown) => unknown
  readonly executed: boolean
}

/** A stream of a COPY: one that is read, or one that is written. */
interface CopyStream {
  readonly destroyed: boolean
  /** Only if the app writes to it. */
  readonly writableEnded?: boolean
  /** Only if the app reads from it. */
  push?: (chunk: unknown) => boolean
  _read?: (size: number) => void
  on(event: 'error', listener: () => void): unknown
  destroy(error: Error): unknown
}

/** A query in the middle of which the connection waits for the handler. */
interface OpenQuery {
  /** Ends it without the handler. Returns whether the handler had not ended it. */
  leave: () => boolean
  readonly ended: { readonly promise: Promise<void>; resolve(): void }
  readonly stream?: CopyStream
}

/** The queries of one transaction. */
export interface PendingQueries {
  /**
   * Keeps a query from a connection that is not its own any more. postgres.js rejects the queries of a connection that ends, and uses
   * the same object again: a handler that goes on would send the next query before that is connected, which ends the process, or in the
   * transaction of another delivery; and a query whose rows it reads in parts would stay pending.
   */
  watch(result: unknown, scope: ScopeState): void
  /**
   * Ends each COPY and cursor that is open: the connection takes no ROLLBACK before, and would be lost for good. A COPY that is written
   * fails, the rest of one that is read is thrown away. Returns whether there were any that the handler had not ended itself.
   */
  leave(): boolean
  /** Resolves when the server has ended them. */
  ended(): Promise<unknown>
}

/** @param close what the function of a cursor returns to close it */
export function pendingQueries(close: unknown): PendingQueries {
  const open = new Map<PendingQuery, OpenQuery>()
  let isOver = false

  function opened(query: PendingQuery, leave: () => boolean, stream?: CopyStream): void {
    open.set(query, { leave, ended: open.get(query)?.ended ?? deferred(), ...(stream && { stream }) })
    if (isOver) leave()
  }

  /** postgres.js does not tell a stream that its last bytes have failed. */
  function ended(query: PendingQuery, error?: unknown): void {
    const { ended, stream } = open.get(query) ?? {}
    open.delete(query)
    if (error !== undefined) stream?.destroy(error as Error)
    ended?.resolve()
  }

  function openedStream(query: PendingQuery, stream: CopyStream): void {
    // One that nobody listens to would end the process when its connection is lost.
    stream.on('error', () => {})
    opened(query, () => leaveStream(stream), stream)
  }

  function watch(result: unknown, scope: ScopeState): void {
    if (!hasMethod(result, 'handler') || !hasMethod(result, 'reject')) return
    const query = result as PendingQuery
    const { handler } = query
    let overError: unknown

    function send(): unknown {
      const refusal = scope.refusal()
      return refusal === undefined ? handler(query) : query.reject(refusal)
    }

    query.handler = Object.assign(
      () => (scope.doubted === undefined ? send() : void scope.doubted.then(send)),
      { debug: handler.debug },
    )
    // postgres.js calls it with the stream of a COPY first, and at the end of that as for other queries.
    replace(query, 'resolve', (resolve) => (value) => {
      if (isStream(value)) openedStream(query, value)
      else ended(query)
      return resolve?.(value)
    })
    replace(query, 'reject', (reject) => (error) => {
      if (error !== overError) ended(query, error)
      // An error of the server leaves the connection as it was.
      if ((error as { severity?: unknown } | undefined)?.severity === undefined) scope.doubt()
      return reject?.(error)
    })
    replace(query, 'cursorFn', (read) => (rows) => {
      const more = read?.(rows)
      if (typeof (more as { then?: unknown } | undefined)?.then !== 'function') return more
      const left = deferred<unknown>()
      opened(query, () => {
        left.resolve(close)
        return true
      })
      return Promise.race([more, left.promise]).then((value) => {
        // After a loss, postgres.js has no query to go on with.
        if (!open.has(query)) return new Promise(() => {})
        opened(query, () => false)
        return value
      })
    })
    scope.failed.catch((error) => {
      overError = error
      if (query.executed) query.reject(error)
    })
  }

  return {
    watch,
    leave() {
      isOver = true
      return [...open.values()].filter(({ leave }) => leave()).length > 0
    },
    ended: () => Promise.all([...open.values()].map(({ ended }) => ended.promise)),
  }
}

/** Wraps a function that postgres.js sets on the query, now or later. */
function replace<Name extends 'resolve' | 'reject' | 'cursorFn'>(
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

function isStream(value: unknown): value is CopyStream {
  return hasMethod(value, 'destroy') && hasMethod(value, 'on')
}

function leaveStream(stream: CopyStream): boolean {
  const isLeft = !stream.destroyed && stream.writableEnded !== true
  if (isLeft) stream.destroy(new Error(LEFT_OPEN))
  if (hasMethod(stream, 'push')) {
    // A stream that is not read any more stops the socket.
    stream.push = () => true
    stream._read?.(0)
  }
  return isLeft
}

export const LEFT_OPEN =
  'The handler returned while a COPY or a cursor of ctx.tx was open. Nothing is kept, and the event runs again: end the stream and await its end, or read it to its end, before the handler returns.'
