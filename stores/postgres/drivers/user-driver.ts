import { StoreError } from '../../../src/index.js'
import { carry, NOT_COMMITTED } from '../../sql/carried.js'
import { NOT_HANDED } from '../../sql/handed-transaction.js'
import { innermost, isWrongServer } from '../advice.js'
import { type CheckedDriver, type CommitOf, type PostgresDriver, unchecked } from './driver.js'
import { checkFor, LEAVE } from './ending.js'
import { beginning } from './strangers.js'

/** The library may itself use postgres.js, so what is sent here is kept from a lost connection too. */
export function twoMethodDriver<Tx>(driver: PostgresDriver<Tx>): CheckedDriver<Tx> {
  const query: PostgresDriver<Tx>['query'] = (tx, sql, parameters) => driver.query(tx, sql, parameters)
  /** The transactions that are over, until their library uses the same object again. */
  const over = new WeakSet<object>()

  function transaction<R>(
    work: (tx: Tx, handed: Tx) => Promise<R>,
    commitOf: CommitOf<R> = unchecked,
  ): Promise<{ result: R; commit: ReturnType<CommitOf<R>> }> {
    return carry({
      open: (begun: (tx: Tx) => Promise<void>) => beginning((given) => driver.transaction(given), begun),
      async run(tx, step) {
        const result = await step(async () => {
          over.delete(Object(tx))
          try {
            return await work(tx, tx)
          } finally {
            over.add(Object(tx))
          }
        })
        const commit = commitOf(result)
        if (commit) await step(() => query(tx, checkFor('$1'), [commit]))
        return { result: { result, commit }, commits: true }
      },
      async sendLast(tx, mustClose, error) {
        const isWrong = isWrongServer(error)
        if (mustClose && !isWrong && driver.refusesLate === true) await query(tx, ABORT, [])
        else if (mustClose || isWrong) await query(tx, LEAVE, [])
      },
      isReused: isOfPostgresJs,
    })
  }

  /**
   * Such a library also says that it committed when it has only ended a savepoint. Its connection is in the transaction still, perhaps this
   * one: it is closed.
   */
  async function checkCommitted(id: string): Promise<void> {
    await transaction(async (tx) => {
      const [row] = await query(tx, "SELECT txid_status($1::bigint) = 'committed' AS committed", [id])
      if (Object.values(row ?? {})[0] === true) return
      await query(tx, LEAVE, []).catch(() => {})
      throw new StoreError('rolled_back', NOT_COMMITTED)
    })
  }

  return {
    async transaction(work, commitOf) {
      const { result, commit } = await transaction(work, commitOf)
      if (commit) await checkCommitted(commit)
      return result
    },
    query,
    async queryHanded(tx, sql, parameters) {
      if (over.has(Object(tx))) throw new TypeError(NOT_HANDED)
      return query(tx, sql, parameters)
    },
    first: query,
  }
}

/** Its errors of a connection that has ended. */
function isOfPostgresJs(error: unknown): boolean {
  return /^CONNECTION_/.test(String((innermost(error) as { code?: unknown } | undefined)?.code))
}

/** Fails, so that the transaction takes nothing more until the library's own ROLLBACK, which overtakes statements that are queued. */
const ABORT = "SELECT 'tix-webhooks: the handler failed, and its transaction is rolled back'::integer"
