import { StoreError } from '../../../src/index.js'
import { COMMIT_MS, callSafely, ROLLBACK_MS, STATEMENT_MS } from '../../../src/internal.js'
import { handedBy } from '../../sql/handed-transaction.js'
import { hasMethod } from '../../sql/has-method.js'
import { type ScopeState, type TransactionScope, transactionScope } from '../../sql/transaction-scope.js'
import { isWrongServer } from '../advice.js'
import { answered } from './answered.js'
import { type Commit, checkFor, ROLLED_BACK } from './commit-check.js'
import { type CheckedDriver, type Query, type StatementResult, unchecked } from './driver.js'
import { ensureBegun, firstStatements, type PgTransaction } from './first-statement.js'
import { LEAVE } from './leave.js'
import { type PgQueryable, type PgResult, preparedStatements } from './prepared.js'

/** The part of a `Pool` of `pg` that is used. */
export interface PgPool extends PgQueryable {
  readonly totalCount: number
  readonly idleCount?: number
  readonly waitingCount?: number
  connect(): Promise<PgClient>
  connect(callback: (error: Error | undefined, client: PgClient | undefined) => void): void
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** The part of a client of that pool that is used. */
export interface PgClient extends PgQueryable {
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  release(error?: Error | boolean): void
}

export function isPgPool(pool: unknown): pool is PgPool {
  return hasMethod(pool, 'connect') && hasMethod(pool, 'query') && 'totalCount' in (pool as object)
}

export function pgQuery(pool: PgPool): Query {
  listenTo(pool)
  const prepared = preparedStatements()
  const { transaction } = pgDriver(pool)
  return async (sql, parameters) => {
    try {
      return resultOf(await prepared.send(pool, sql, parameters))
    } catch (error) {
      if (!isWrongServer(error)) throw error
      // Nothing is written. The pool has closed its connection, but a pooler in front of the server keeps its own, which only a transaction ends.
      return transaction(async (tx) => {
        await ensureBegun(tx)
        return resultOf(
          await tx.client.query({ text: sql, values: [...parameters], query_timeout: STATEMENT_MS }),
        )
      })
    }
  }
}

function resultOf({ rows, rowCount }: PgResult): StatementResult {
  return { rows, count: rowCount }
}

/** @param as converts a client to the transaction that handlers get. The client that it is given refuses to open another transaction */
export function pgDriver<Handed>(
  pool: PgPool,
  as?: (client: PgClient) => Handed,
): CheckedDriver<PgTransaction<PgClient>, Handed> {
  const sendFirst = firstStatements(preparedStatements())
  /** The client behind each transaction that `as` returned. */
  const clients = new WeakMap<object, PgClient>()
  listenTo(pool)

  /** Makes the transaction that a handler gets. */
  function makeHandlerTransaction(client: PgClient, scope: TransactionScope): Handed {
    const protectedClient = withoutRelease(client)
    if (as === undefined) return scope.bind(protectedClient) as object as Handed
    const bound = scope.bind(withoutTransactions(protectedClient))
    const handed = scope.bind(handedBy(as, bound))
    clients.set(handed, bound)
    return handed
  }

  return {
    async transaction(work, commitOf = unchecked) {
      const { client, broken, release, stopListening } = await connect(pool)
      const tx = { client, isBegun: false }
      const scope = transactionScope({ refuse, watch: watchStream })
      let unusable: Error | undefined
      try {
        const result = await scope.run(() =>
          Promise.race([work(tx, makeHandlerTransaction(client, scope)), broken]),
        )
        const commit = commitOf(result)
        // Not by `query_timeout`, which the oldest versions of `pg` have for a whole client alone.
        const ended: PgResult | PgResult[] = await answered(COMMIT_MS, client.query(endOf(commit)))
        if (commit !== null && [ended].flat().at(-1)?.command !== 'COMMIT') {
          throw new StoreError('rolled_back', ROLLED_BACK)
        }
        return result
      } catch (error) {
        const isWrong = isWrongServer(error)
        if (isWrong) unusable = error as Error
        await answered(ROLLBACK_MS, client.query(isWrong ? LEAVE : 'ROLLBACK')).catch((cause: Error) => {
          unusable = cause
        })
        throw error
      } finally {
        stopListening()
        release(unusable)
      }
    },
    async query(tx, text, parameters, limitMs) {
      await ensureBegun(tx)
      const limit = limitMs === undefined ? {} : { query_timeout: limitMs }
      return (await tx.client.query({ text, values: [...parameters], ...limit })).rows
    },
    async queryHanded(handed, sql, parameters) {
      const client = as === undefined ? (handed as unknown as PgClient) : clients.get(handed as object)
      if (client === undefined)
        throw new TypeError('Pass ctx.tx itself: this is not the object that the option `as` returned.')
      return (await client.query(sql, [...parameters])).rows
    },
    first: async (tx, sql, parameters) => (await sendFirst(tx, sql, parameters)).rows,
    hint() {
      const { totalCount, idleCount = 0, waitingCount = 0 } = pool
      if (waitingCount === 0 || idleCount > 0) return undefined
      return `The pool of the inbox has no idle connection (${totalCount} in use, ${waitingCount} waiting): if the handler uses the pool beside ctx.tx, it waits for the connection that it holds itself. Use ctx.tx alone, and set connectionTimeoutMillis on the pool.`
    },
  }
}

/** As pg does on a closed connection: by the callback, or by the query itself, such as that of a cursor. */
function refuse(
  { name }: { readonly name: string },
  given: readonly unknown[],
  error: StoreError,
): { returned: unknown } | undefined {
  if (name !== 'query') return undefined
  const [query] = given as [{ handleError?(error: Error): void }]
  const isQuery = hasMethod(query, 'handleError')
  const callback = given.find((one) => typeof one === 'function') as ((error: Error) => void) | undefined
  if (!isQuery && callback === undefined) return undefined
  setTimeout(() => {
    callSafely(() => callback?.(error))
    if (isQuery) callSafely(() => query.handleError?.(error))
  }, 0)
  return { returned: isQuery ? query : undefined }
}

/** A stream of pg-query-stream waits for an answer of the lost connection before it ends: a handler would read from it for ever. */
function watchStream(result: unknown, scope: ScopeState): void {
  if (!hasMethod(result, 'submit') || !hasMethod(result, 'listenerCount')) return
  const stream = result as QueryStream
  scope.failed.catch((error) => {
    const hasEnded = stream.readableEnded === true || stream.closed === true
    // An error that nobody listens to would end the process.
    if (!hasEnded && stream.listenerCount('error') > 0) stream.emit('error', error)
  })
}

interface QueryStream {
  readonly readableEnded?: boolean
  readonly closed?: boolean
  listenerCount(event: string): number
  emit(event: string, error: unknown): unknown
}

/** In one message: if a part of it fails, the server ignores the rest. */
function endOf(commit: Commit | null | undefined): string {
  if (commit === null) return 'ROLLBACK'
  return commit === undefined ? 'COMMIT' : `${checkFor(commit)}; COMMIT`
}

interface Connection {
  readonly client: PgClient
  /** Rejects when the connection breaks. It is never an unhandled rejection. */
  readonly broken: Promise<never>
  /** The `release` of this checkout: pg replaces it at the next one. */
  readonly release: PgClient['release']
  stopListening(): void
}

/**
 * Takes a client, with a listener on it from the first moment: without one, a connection that breaks ends the process. An
 * answer and the end of the connection can arrive in one chunk: then 'error' is emitted before an awaited promise goes on.
 */
function connect(pool: PgPool): Promise<Connection> {
  return new Promise((resolve, reject) => {
    function take(client: PgClient): void {
      let onError: (error: Error) => void = () => {}
      const broken = new Promise<never>((_, fail) => {
        onError = fail
      })
      broken.catch(() => {})
      client.on('error', onError)
      resolve({
        client,
        broken,
        release: client.release.bind(client),
        stopListening: () => client.off('error', onError),
      })
    }
    const promised = pool.connect((error, client) => {
      if (client === undefined) reject(error)
      else take(client)
    }) as PromiseLike<PgClient | undefined> | undefined
    // A wrapper around a pool may ignore the callback and return a promise, or take the callback and return nothing.
    if (typeof promised?.then !== 'function') return
    promised.then((client) => client !== undefined && take(client)).then(undefined, reject)
  })
}

const listenedTo = new WeakSet<PgPool>()

/** An idle connection that breaks would end the process too. The user's own listeners are called as before. */
function listenTo(pool: PgPool): void {
  if (listenedTo.has(pool)) return
  listenedTo.add(pool)
  pool.on?.('error', () => {})
}

/** The client that handlers get: they cannot release it, or another delivery would be in its transaction. */
function withoutRelease(client: PgClient): PgClient {
  let made = unreleased.get(client)
  if (made === undefined) {
    made = new Proxy(client, {
      get(target, name) {
        if (name === 'release' || name === 'end') return refuseRelease
        return Reflect.get(target, name) as unknown
      },
    })
    unreleased.set(client, made)
  }
  return made
}

const unreleased = new WeakMap<PgClient, PgClient>()

function refuseRelease(): never {
  throw new TypeError(
    'ctx.tx is the connection of the inbox, which releases it itself: remove release() and end() from the handler.',
  )
}

/**
 * A library that wraps a client does not know that it is in a transaction: one that it opens would commit or roll back the inbox's
 * in the middle of the handler.
 */
function withoutTransactions(client: PgClient): PgClient {
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'query') return value
      return function query(...parameters: unknown[]): unknown {
        const [statement] = parameters as [string | { text?: unknown }]
        const text = typeof statement === 'string' ? statement : statement?.text
        if (ENDS_OR_BEGINS.test(String(text))) throw inboxTransaction()
        return Reflect.apply(value as (...all: unknown[]) => unknown, target, parameters)
      }
    },
  })
}

const ENDS_OR_BEGINS =
  /^\s*(BEGIN|START\s+TRANSACTION|COMMIT|END|ABORT|ROLLBACK(?!\s+(TRANSACTION\s+|WORK\s+)?TO))\b/i

function inboxTransaction(): TypeError {
  return new TypeError(
    'ctx.tx is in the transaction of the inbox, so it can neither begin nor end one: write through it directly, and put SAVEPOINT and ROLLBACK TO SAVEPOINT around what may fail.',
  )
}
