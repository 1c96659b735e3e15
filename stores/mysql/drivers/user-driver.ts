import { StoreError } from '../../../src/index.js'
import { ROLLBACK_MS, within } from '../../../src/internal.js'
import { hasMethod } from '../../sql/has-method.js'
import { type TransactionScope, transactionScope } from '../../sql/transaction-scope.js'
import { hasEnded, isWrongServer } from '../advice.js'
import { answerOf } from './answer.js'
import {
  type Answer,
  type Ask,
  CHECK_MARK,
  type CheckedDriver,
  type Ending,
  limitIdle,
  type MysqlDriver,
  READ_COMMITTED,
  RESTORE_IDLE,
  ROLLBACK,
  type TransactionOptions,
} from './driver.js'
import { isOtherLibrary } from './other-libraries.js'

export function isTwoMethodDriver<Tx>(pool: unknown): pool is MysqlDriver<Tx> {
  return (
    hasMethod(pool, 'transaction') &&
    hasMethod(pool, 'query') &&
    !hasMethod(pool, 'getConnection') &&
    !isOtherLibrary(pool)
  )
}

/** The library ends the transaction out of our reach, so a query checks that it commits this delivery's writes and not an earlier one's. */
export function twoMethodDriver<Tx>(driver: MysqlDriver<Tx>): CheckedDriver<Tx> {
  const query = async (tx: Tx, sql: string): Promise<Answer> => ({
    rows: answerOf(await driver.query(tx, sql)).rows,
  })
  const scopes = new Set<TransactionScope>()

  /**
   * Some libraries queue statements, and their ROLLBACK overtakes these. So a statement is awaited that comes after them. While a nested
   * transaction is open it ends the connection: TypeORM would end only the savepoint, and give the connection back with a transaction
   * on it, which the next START TRANSACTION would commit.
   *
   * @param isLast whether the connection is to end
   */
  async function sendLast(
    tx: Tx,
    isLast: boolean,
    restore: string | undefined,
    onMarkLost?: TransactionOptions['onMarkLost'],
  ): Promise<void> {
    const checking = within<unknown>(query(tx, CHECK_MARK), ROLLBACK_MS, () => {
      throw new StoreError('store_unavailable', NOT_ANSWERED)
    })
    await checking.catch((error) => onMarkLost?.(hasEnded(error)))
    const last = isLast ? DISCONNECT : restore
    if (last !== undefined) await within<unknown>(query(tx, last), ROLLBACK_MS, () => {}).catch(() => {})
  }

  /** The library has begun a transaction, whose level can no longer be set: it is ended, and each read is one of its own. */
  async function reading<R>(work: (ask: Ask) => Promise<R>): Promise<R> {
    // Kept here, because a driver may return nothing.
    let ended: { result: R } | undefined
    await driver.transaction(async (tx) => {
      await query(tx, ROLLBACK)
      const result = await work(async (sql) => {
        await query(tx, READ_COMMITTED)
        return query(tx, sql)
      })
      ended = { result }
    })
    if (ended === undefined) throw new StoreError('store_unavailable', NOT_AWAITED)
    return (ended as { result: R }).result
  }

  async function checkCommitted(proof: string): Promise<void> {
    const { rows } = await reading((ask) => ask(proof))
    if (rows.length === 0) throw new StoreError('rolled_back', NOT_COMMITTED)
  }

  return {
    async transaction<R>(
      work: (tx: Tx, handed: Tx) => Promise<R>,
      endingOf: (result: R) => Ending = alwaysCommits,
      { idleMs, isMarked: hasMark = () => false, onMarkLost }: TransactionOptions = {},
    ) {
      const scope = transactionScope()
      scopes.add(scope)
      const restore = idleMs === undefined ? undefined : `SET ${RESTORE_IDLE}`
      // Not every driver's transaction is an object.
      const handedOf = (tx: Tx): Tx => (tx instanceof Object ? scope.bind(tx) : tx)
      // Kept here, because a driver may return nothing.
      let ended: { result: R; proof: string | undefined } | undefined
      let discarded: { result: R } | undefined
      /** The error of a server whose session we have ended: what the library says then is only that. */
      let wrong: { error: unknown } | undefined
      try {
        await driver.transaction(async (tx) => {
          if (idleMs !== undefined) await query(tx, `SET ${limitIdle(idleMs)}`)
          const result = await scope
            .unlessLost(async () => {
              const result = await scope.run(() => work(tx, handedOf(tx)))
              if (isInSavepoint(tx)) throw new StoreError('rolled_back', NOT_COMMITTED)
              return result
            })
            .catch(async (error) => {
              if (isWrongServer(error)) wrong = { error }
              const isLast = wrong !== undefined || scope.isNested() || isInSavepoint(tx)
              await scope.unlessLost(() => sendLast(tx, isLast, restore, hasMark() ? onMarkLost : undefined))
              throw error
            })
          const { commits, isMarked, proof } = endingOf(result)
          if (commits && isMarked) await scope.unlessLost(() => query(tx, CHECK_MARK))
          if (restore !== undefined) await scope.unlessLost(() => query(tx, restore))
          if (!commits) {
            discarded = { result }
            throw discarded
          }
          ended = { result, proof }
        })
      } catch (error) {
        if (discarded !== undefined) return (discarded as { result: R }).result
        scope.lose()
        throw wrong === undefined ? error : (wrong as { error: unknown }).error
      } finally {
        scopes.delete(scope)
      }
      if (ended === undefined) throw new StoreError('store_unavailable', NOT_AWAITED)
      const { result, proof } = ended as { result: R; proof: string | undefined }
      if (proof !== undefined) await checkCommitted(proof)
      return result
    },
    query,
    reading,
    async queryHanded(tx, sql) {
      if (tx instanceof Object && ![...scopes].some((scope) => scope.isBound(tx)))
        throw new TypeError(OUTSIDE)
      return query(tx, sql)
    },
  }
}

/** TypeORM counts, and ends the innermost; other libraries end the outermost, whatever is open in it. */
function isInSavepoint(tx: unknown): boolean {
  const { queryRunner } = (tx ?? {}) as { queryRunner?: { transactionDepth?: unknown } }
  return Number(queryRunner?.transactionDepth ?? 1) > 1
}

function alwaysCommits(): Ending {
  return { commits: true }
}

const DISCONNECT = 'KILL CONNECTION_ID()'
const OUTSIDE = 'Pass ctx.tx itself, also within a savepoint: this is not the transaction of the inbox.'
const NOT_ANSWERED = 'The connection did not answer.'
const NOT_AWAITED =
  'The transaction of the driver ended before its work did: it must await the function that is passed to it, as in transaction: (work) => db.transaction(work).'
const NOT_COMMITTED =
  'The library ended the transaction without a COMMIT: the handler left a nested transaction open, or ended the transaction itself. Nothing is kept, and the event runs again.'
