import { StoreError } from '../../../src/index.js'
import { ROLLBACK_MS, within } from '../../../src/internal.js'
import { carry, NOT_COMMITTED } from '../../sql/carried.js'
import { NOT_HANDED } from '../../sql/handed-transaction.js'
import { hasEnded, isWrongServer } from '../advice.js'
import { answerOf } from './answer.js'
import {
  type Answer,
  type Ask,
  alwaysCommits,
  CHECK_MARK,
  type CheckedDriver,
  limitIdle,
  type MysqlDriver,
  READ_COMMITTED,
  RESTORE_IDLE,
  ROLLBACK,
  type TransactionOptions,
} from './driver.js'

/** The library ends the transaction out of our reach, so a query checks that it commits this delivery's writes and not an earlier one's. */
export function twoMethodDriver<Tx>(driver: MysqlDriver<Tx>): CheckedDriver<Tx> {
  const query = async (tx: Tx, sql: string): Promise<Answer> => ({
    rows: answerOf(await driver.query(tx, sql)).rows,
  })
  /** The transactions that are not over. */
  const handed = new Set<Tx>()

  async function askMark(tx: Tx, onMarkLost: TransactionOptions['onMarkLost']): Promise<void> {
    const checking = within<unknown>(query(tx, CHECK_MARK), ROLLBACK_MS, () => {
      throw new StoreError('store_unavailable', 'The connection did not answer.')
    })
    await checking.catch((error) => onMarkLost?.(hasEnded(error)))
  }

  /** The library has begun a transaction, whose level can no longer be set: it is ended, and each read is one of its own. */
  function reading<R>(work: (ask: Ask) => Promise<R>): Promise<R> {
    return carry({
      open: (begun: (tx: Tx) => Promise<void>) => driver.transaction(begun),
      async run(tx) {
        await query(tx, ROLLBACK)
        const result = await work(async (sql) => {
          await query(tx, READ_COMMITTED)
          return query(tx, sql)
        })
        return { result, commits: true }
      },
      sendLast: async () => {},
    })
  }

  return {
    async transaction<R>(
      work: (tx: Tx, handed: Tx) => Promise<R>,
      endingOf = alwaysCommits as (result: R) => ReturnType<typeof alwaysCommits>,
      { idleMs, isMarked: hasMark = () => false, onMarkLost }: TransactionOptions = {},
    ) {
      const restore = idleMs === undefined ? undefined : `SET ${RESTORE_IDLE}`
      let hasReturned = false
      const { result, proof } = await carry({
        open: (begun: (tx: Tx) => Promise<void>) => driver.transaction(begun),
        async run(tx, step) {
          const result = await step(async () => {
            if (idleMs !== undefined) await query(tx, `SET ${limitIdle(idleMs)}`)
            handed.add(tx)
            try {
              return await work(tx, tx)
            } finally {
              handed.delete(tx)
            }
          })
          hasReturned = true
          const { commits, isMarked, proof } = endingOf(result)
          if (commits && isMarked) await step(() => query(tx, CHECK_MARK))
          if (restore !== undefined) await step(() => query(tx, restore))
          return { result: { result, proof }, commits }
        },
        async sendLast(tx, mustClose, error) {
          if (hasMark() && !hasReturned) await askMark(tx, onMarkLost)
          if (mustClose || isWrongServer(error)) await query(tx, 'KILL CONNECTION_ID()')
          else if (restore !== undefined) await query(tx, restore)
        },
      })
      if (proof !== undefined) {
        const { rows } = await reading((ask) => ask(proof))
        if (rows.length === 0) throw new StoreError('rolled_back', NOT_COMMITTED)
      }
      return result
    },
    query,
    reading,
    async queryHanded(tx, sql) {
      if (!handed.has(tx)) throw new TypeError(NOT_HANDED)
      return query(tx, sql)
    },
  }
}
