import { StoreError } from '../../../src/index.js'
import { ROLLBACK_MS, within } from '../../../src/internal.js'
import { hasMethod } from '../../sql/has-method.js'
import { transactionScope } from '../../sql/transaction-scope.js'
import { isWrongServer } from '../advice.js'
import { type Commit, checkOf } from './commit-check.js'
import { type CheckedDriver, type CommitOf, type PostgresDriver, unchecked } from './driver.js'
import { DISCONNECT, LEAVE } from './leave.js'
import { isOtherLibrary } from './other-libraries.js'
import { beginning } from './strangers.js'

export function isTwoMethodDriver<Tx>(pool: unknown): pool is PostgresDriver<Tx> {
  return (
    hasMethod(pool, 'transaction') &&
    hasMethod(pool, 'query') &&
    !hasMethod(pool, 'connect') &&
    !isOtherLibrary(pool)
  )
}

/** The library may itself use postgres.js, so what is sent here is kept from a lost connection too. */
export function twoMethodDriver<Tx>(driver: PostgresDriver<Tx>): CheckedDriver<Tx> {
  const query: PostgresDriver<Tx>['query'] = (tx, sql, parameters) => driver.query(tx, sql, parameters)
  const transaction = (work: (tx: Tx) => Promise<void>): Promise<void> =>
    beginning((begun: typeof work) => driver.transaction(begun), work)

  /**
   * A library can give a connection back in the middle of a transaction: TypeORM does while a nested transaction of the handler
   * is open. The writes of that delivery must not be committed with this one.
   */
  async function refuseOpen(tx: Tx): Promise<void> {
    const [row] = await query(tx, IS_OPEN, [])
    if (Object.values(row ?? {})[0] !== true) return
    await query(tx, 'ROLLBACK', [])
    throw new StoreError('store_unavailable', LEFT_OPEN)
  }

  /** Such a library also says that it committed when it has only ended a savepoint. */
  async function checkCommitted(id: string): Promise<void> {
    await transaction(async (tx) => {
      await refuseOpen(tx)
      const [row] = await query(tx, "SELECT txid_status($1::bigint) = 'committed' AS committed", [id])
      if (Object.values(row ?? {})[0] !== true) {
        throw new StoreError('rolled_back', NOT_COMMITTED)
      }
    })
  }

  /**
   * Some libraries queue statements, and their ROLLBACK overtakes these: what Kysely still had to send would be committed by
   * itself. So a statement is awaited that comes after them. While a nested transaction is open it ends the connection: TypeORM would end
   * only the savepoint, and after a ROLLBACK of ours the statements that a library still has to send would be committed one by one.
   */
  async function sendLast(tx: Tx, isWrong: boolean, isNested: boolean): Promise<void> {
    const last = isWrong ? LEAVE : isNested ? DISCONNECT : 'SELECT 1'
    try {
      await within<unknown>(query(tx, last, []), ROLLBACK_MS, () => {})
    } catch {
      // In a failed transaction each statement fails, and so does one that ends its connection.
    }
  }

  return {
    async transaction<R>(work: (tx: Tx, handed: Tx) => Promise<R>, commitOf: CommitOf<R> = unchecked) {
      const scope = transactionScope()
      // Not every driver's transaction is an object.
      const handedOf = (tx: Tx): Tx => (tx instanceof Object ? scope.bind(tx) : tx)
      /** The error of a server whose session we have ended: what the library says then is only that. */
      let wrong: { error: unknown } | undefined
      try {
        let commit: Commit | undefined
        // Kept here, because a driver may return nothing.
        let ended: { result: R } | undefined
        await transaction(async (tx) => {
          const result = await scope
            .unlessLost(async () => {
              // A statement that sets the isolation of its transaction must be its first, so nothing may be sent before it.
              if (commitOf !== unchecked) await refuseOpen(tx)
              return scope.run(() => work(tx, handedOf(tx)))
            })
            .catch(async (error) => {
              if (isWrongServer(error)) wrong = { error }
              await scope.unlessLost(() => sendLast(tx, wrong !== undefined, scope.isNested()))
              throw error
            })
          commit = commitOf(result) ?? undefined
          if (commit !== undefined) {
            const [check, parameters] = checkOf(commit)
            await scope.unlessLost(() => query(tx, check, parameters))
          }
          ended = { result }
        })
        if (ended === undefined) throw new StoreError('store_unavailable', NOT_AWAITED)
        if (commit !== undefined) await checkCommitted((commit as Commit).id)
        return ended.result
      } catch (error) {
        scope.lose()
        throw wrong === undefined ? error : (wrong as { error: unknown }).error
      }
    },
    query,
    queryHanded: query,
    first: query,
  }
}

const IS_OPEN = 'SELECT txid_current_if_assigned() IS NOT NULL AS opened'
const LEFT_OPEN =
  'This connection was in the transaction of an earlier delivery, whose handler left a nested transaction open. That is rolled back now, and both events run again: await what tx.transaction() returns, and use a SAVEPOINT in one statement after the other instead.'
const NOT_AWAITED =
  'The transaction of the driver ended before its work did: it must await the function that is passed to it, as in transaction: (work) => db.transaction(work).'
const NOT_COMMITTED =
  'The library ended the transaction without a COMMIT: the handler left a nested transaction open, or ended the transaction itself. Nothing is kept, and the event runs again.'
