import { ROLLBACK_MS, within } from '../../../src/internal.js'
import { handlerScope } from '../../sql/handler-scope.js'
import { lossOf } from '../../sql/lost.js'
import { hasMethod } from '../../sql/not-a-pool.js'
import { isWrongServer } from '../advice.js'
import { type Ask, type CheckedDriver, type CommitOf, type Row, unchecked } from './driver.js'
import { checkFor, LEAVE_WHEN_IDLE } from './ending.js'
import { handedSql } from './handed-sql.js'
import { nextPoll } from './next-poll.js'
import { pendingQueries } from './pending-query.js'
import { beginning, withoutStrangers } from './strangers.js'

/** The part of the `sql` of postgres.js that is used. */
export interface PostgresJs {
  begin(work: (tx: PostgresJsTransaction) => Promise<unknown>): Promise<unknown>
  unsafe(sql: string, parameters?: never[], options?: { prepare?: boolean }): PromiseLike<PostgresJsRows>
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

export function postgresJsQuery(client: PostgresJs): Ask {
  const { transaction, query } = postgresJsDriver(client)
  return async (sql, parameters) => {
    try {
      return await withoutStrangers(
        () => query(client, sql, parameters),
        ({ args }) => args === parameters,
      )
    } catch (error) {
      if (!isWrongServer(error)) throw error
      // Nothing is written. Only a transaction shows which connection it is on, so that it can end it.
      return transaction((tx) => query(tx, sql, parameters))
    }
  }
}

export function postgresJsDriver(client: PostgresJs): CheckedDriver<PostgresJsTransaction> {
  const query = async (
    tx: PostgresJsTransaction,
    sql: string,
    parameters: readonly unknown[],
  ): Promise<readonly Row[]> => tx.unsafe(sql, parameters as never[], PREPARED)

  async function transaction<R>(work: (tx: PostgresJsTransaction) => Promise<R>): Promise<R> {
    return (await client.begin(work)) as R
  }

  return {
    async transaction<R>(
      work: (tx: PostgresJsTransaction, handed: PostgresJsTransaction) => Promise<R>,
      commitOf: CommitOf<R> = unchecked,
    ) {
      const scope = handlerScope()
      const handed = handedSql(scope, pendingQueries(scope))
      const { lose, unlessLost } = lossOf(nextPoll)
      let unwritten: { result: R } | undefined
      /** The error of a server whose session we have ended: what the library says then is only that. */
      let wrong: { error: unknown } | undefined

      const run = (tx: PostgresJsTransaction): Promise<R> =>
        scope.run(async () => {
          const result = await work(tx, handed.bind(tx))
          handed.refuseOpen()
          return result
        })

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
          const result = await unlessLost(() => run(tx)).catch((error) => {
            if (!isWrongServer(error)) throw error
            wrong = { error }
            return unlessLost(async () => {
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
          if (commit !== undefined) await unlessLost(async () => await tx.unsafe(checkFor(commit)))
          // In an object, because postgres.js awaits the elements of a list.
          return { result }
        })
        return ended.result
      } catch (error) {
        lose(true)
        scope.fail()
        if (unwritten !== undefined && error === unwritten) return unwritten.result
        throw wrong === undefined ? error : (wrong as { error: unknown }).error
      }
    },
    query,
    queryHanded: query,
    first: query,
  }
}
