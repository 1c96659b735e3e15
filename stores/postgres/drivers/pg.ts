import { StoreError } from '../../../src/index.js'
import { COMMIT_MS, ROLLBACK_MS } from '../../../src/internal.js'
import { handedBy, NOT_HANDED } from '../../sql/handed-transaction.js'
import {
  type ClientRules,
  type HandlerScope,
  handedClient,
  handlerScope,
  IN_TRANSACTION,
  NOT_YOURS,
} from '../../sql/handler-scope.js'
import { hasMethod } from '../../sql/not-a-pool.js'
import { isWrongServer } from '../advice.js'
import { type Ask, answered, type CheckedDriver, unchecked } from './driver.js'
import { checkFor, ENDS_OR_BEGINS, LEAVE, ROLLED_BACK } from './ending.js'
import {
  ensureBegun,
  type PgQueryable,
  type PgResult,
  type PgTransaction,
  preparedStatements,
} from './prepared.js'

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

export function pgQuery(pool: PgPool): Ask {
  listenTo(pool)
  const prepared = preparedStatements()
  const { transaction, first } = pgDriver(pool)
  return async (sql, parameters) => {
    try {
      return (await prepared.send(pool, sql, parameters)).rows
    } catch (error) {
      if (!isWrongServer(error)) throw error
      // Nothing is written. The pool has closed its connection, but a pooler in front of the server keeps its own, which only a transaction ends.
      return transaction((tx) => first(tx, sql, parameters))
    }
  }
}

/** @param as converts a client to the transaction that handlers get. The client that it is given refuses to open another transaction */
export function pgDriver<Handed>(
  pool: PgPool,
  as?: (client: PgClient) => Handed,
): CheckedDriver<PgTransaction<PgClient>, Handed> {
  const { sendFirst } = preparedStatements()
  /** The client of each transaction that a handler got. */
  const clients = new WeakMap<object, PgClient>()
  listenTo(pool)

  /** Makes the transaction that a handler gets. */
  function handedOf(given: PgClient, scope: HandlerScope): Handed {
    const client = handedClient(given, scope, RULES)
    const handed = as === undefined ? client : handedBy(as, client)
    clients.set(handed, client)
    return handed as Handed
  }

  return {
    async transaction(work, commitOf = unchecked) {
      const { client, broken, release, stopListening } = await connect(pool)
      const tx = { client, isBegun: false }
      const scope = handlerScope()
      let unusable: Error | undefined
      try {
        const result = await scope.run(() => Promise.race([work(tx, handedOf(client, scope)), broken]))
        const commit = commitOf(result)
        // In one message: if a part of it fails, the server ignores the rest.
        const end =
          commit === null ? 'ROLLBACK' : commit === undefined ? 'COMMIT' : `${checkFor(commit)}; COMMIT`
        // Not by `query_timeout`, which the oldest versions of `pg` have for a whole client alone.
        const ended: PgResult | PgResult[] = await answered(COMMIT_MS, client.query(end))
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
    async query(tx, text, parameters) {
      await ensureBegun(tx)
      return (await tx.client.query({ text, values: [...parameters] })).rows
    },
    async queryHanded(handed, sql, parameters) {
      const client = clients.get(handed as object)
      if (client === undefined) throw new TypeError(NOT_HANDED)
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

const RULES: ClientRules = {
  sends: new Set(['query']),
  refused: { release: NOT_YOURS, end: NOT_YOURS },
  refusalOf: (statement) => (ENDS_OR_BEGINS.test(statement) ? IN_TRANSACTION : undefined),
}
