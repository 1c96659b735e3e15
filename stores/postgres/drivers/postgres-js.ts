import { StoreError } from '../../../src/index.js'
import { ROLLBACK_MS, within } from '../../../src/internal.js'
import { hasMethod } from '../../sql/has-method.js'
import { transactionScope } from '../../sql/transaction-scope.js'
import { isWrongServer } from '../advice.js'
import { checkFor } from './commit-check.js'
import {
  type CheckedDriver,
  type CommitOf,
  type PostgresDriver,
  type Query,
  type Row,
  type StatementResult,
  unchecked,
} from './driver.js'
import { LEAVE_WHEN_IDLE } from './leave.js'
import { nextPoll } from './next-poll.js'
import { LEFT_OPEN, pendingQueries } from './pending-query.js'
import { beginning, withoutStrangers } from './strangers.js'

/** The part of the `sql` of postgres.js that is used. */
export interface PostgresJs {
  begin(work: (tx: PostgresJsTransaction) => Promise<unknown>): Promise<unknown>
  unsafe(sql: string, parameters?: never[], options?: { prepare?: boolean }): PromiseLike<PostgresJsRows>
  /** The value that a cursor's function returns to close it. */
  readonly CLOSE?: unknown
}

interface PostgresJsTransaction {
  unsafe(sql: string, parameters?: never[], options?: { prepare?: boolean }): PromiseLike<PostgresJsRows>
}

type PostgresJsRows = readonly Row[] & { readonly count: number }

/** Otherwise postgres.js asks for the types of the parameters first, a round trip more. A client's own `prepare: false` wins. */
const PREPARED = { prepare: true }

export function isPostgresJs(pool: unknown): pool is PostgresJs {
  return typeof pool === 'function' && hasMethod(pool, 'begin') && hasMethod(pool, 'unsafe')
}

export function postgresJsQuery(client: PostgresJs): Query {
  const { transaction } = postgresJsDriver(client)
  return async (sql, parameters) => {
    const send = async (on: PostgresJsTransaction): Promise<StatementResult> => {
      const rows = await on.unsafe(sql, parameters as never[], PREPARED)
      return { rows, count: rows.count }
    }
    try {
      return await withoutStrangers(
        () => send(client),
        ({ args }) => args === parameters,
      )
    } catch (error) {
      if (!isWrongServer(error)) throw error
      // Nothing is written. Only a transaction shows which connection it is on, so that it can end it.
      return transaction(send)
    }
  }
}

export function postgresJsDriver(client: PostgresJs): CheckedDriver<PostgresJsTransaction> {
  const query: PostgresDriver<PostgresJsTransaction>['query'] = async (tx, sql, parameters) =>
    tx.unsafe(sql, parameters as never[], PREPARED)

  async function transaction<R>(work: (tx: PostgresJsTransaction) => Promise<R>): Promise<R> {
    return (await client.begin(work)) as R
  }

  return {
    async transaction<R>(
      work: (tx: PostgresJsTransaction, handed: PostgresJsTransaction) => Promise<R>,
      commitOf: CommitOf<R> = unchecked,
    ) {
      const queries = pendingQueries(client.CLOSE)
      const scope = transactionScope({ afterWork: nextPoll, watch: queries.watch })
      let unwritten: { result: R } | undefined
      /** The error of a server whose session we have ended: what the library says then is only that. */
      let wrong: { error: unknown } | undefined

      async function run(tx: PostgresJsTransaction): Promise<R> {
        try {
          return await scope.run(async () => {
            const result = await work(tx, scope.bind(tx))
            if (queries.leave()) throw new StoreError('rolled_back', LEFT_OPEN)
            return result
          })
        } finally {
          queries.leave()
          await queries.ended()
        }
      }

      /**
       * Waits until postgres.js has noticed that the session has ended, which ends `begin`: its own ROLLBACK would go to the next one. To be
       * called in `unlessLost`, so that it settles only if the session has not ended in time.
       */
      async function leave(tx: PostgresJsTransaction): Promise<void> {
        const leaving = Promise.resolve(tx.unsafe(LEAVE_WHEN_IDLE)).then(() => new Promise<never>(() => {}))
        await within<unknown>(leaving, ROLLBACK_MS, () => {}).catch(() => {})
      }

      try {
        const ended = await beginning(transaction<{ result: R }>, async (tx) => {
          const result = await scope
            .unlessLost(() => run(tx))
            .catch((error) => {
              if (!isWrongServer(error)) throw error
              wrong = { error }
              return scope.unlessLost(async () => {
                await leave(tx)
                throw error
              })
            })
          const commit = commitOf(result)
          if (commit === null) {
            unwritten = { result }
            throw unwritten
          }
          // Awaited before COMMIT, which costs a round trip: if a socket fails while two statements are queued, postgres.js keeps the
          // second for its next connection, which then hangs. The first may be answered by the next connection, so `unlessLost` keeps
          // COMMIT from ending the transaction of another delivery. Without parameters: postgres.js may hold back a statement that has
          // some forever once the transaction is gone.
          if (commit !== undefined) await scope.unlessLost(async () => await tx.unsafe(checkFor(commit)))
          // In an object, because postgres.js awaits the elements of a list.
          return { result }
        })
        return ended.result
      } catch (error) {
        scope.lose()
        if (unwritten !== undefined && error === unwritten) return unwritten.result
        throw wrong === undefined ? error : (wrong as { error: unknown }).error
      }
    },
    query,
    queryHanded: query,
    first: query,
  }
}
