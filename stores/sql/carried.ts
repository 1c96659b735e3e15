import { StoreError } from '../../src/index.js'
import { ROLLBACK_MS, within } from '../../src/internal.js'
import { HandlerFailed } from './handler-scope.js'
import { type Loss, lossOf } from './lost.js'

/** What is done in a transaction that a library carries, which begins and ends it out of our reach. */
export interface Carried<Tx, R> {
  /** Opens a transaction, and resolves when it is committed. */
  open(work: (tx: Tx) => Promise<void>): Promise<unknown>
  run(tx: Tx, step: Loss['unlessLost']): Promise<{ readonly result: R; readonly commits: boolean }>
  /**
   * Sends the last statement before the library rolls back. After a handler it ends the session: no library tells what that has left open,
   * such as a nested transaction or a branch, which would go on in the transaction of another delivery.
   */
  sendLast(tx: Tx, mustClose: boolean, error: unknown): Promise<unknown>
  /** See `Loss`. Default: no. */
  isReused?(error: unknown): boolean
}

export async function carry<Tx, R>({ open, run, sendLast, isReused }: Carried<Tx, R>): Promise<R> {
  const { lose, unlessLost } = lossOf()
  // Kept here: a driver may return nothing, and rejects with what its library says of a session that we have ended.
  let ended: Awaited<ReturnType<typeof run>> | undefined
  let failed: { readonly error: unknown } | undefined
  try {
    await open(async (tx) => {
      let isHandlers = false
      async function step<T>(work: () => Promise<T>): Promise<T> {
        const result = await unlessLost(work)
        isHandlers = true
        return result
      }
      try {
        ended = await run(tx, step)
      } catch (error) {
        failed = { error }
        const mustClose = isHandlers || error instanceof HandlerFailed
        await unlessLost(async () => {
          await within(sendLast(tx, mustClose, error), ROLLBACK_MS, () => {}).catch(() => {})
        })
        throw error
      }
      if (!ended.commits) throw new Error('tix-webhooks: nothing is to be committed')
    })
  } catch (error) {
    lose(isReused?.(error) ?? false)
    if (failed !== undefined) throw (failed as { readonly error: unknown }).error
    if (ended?.commits !== false) throw error
  }
  if (ended === undefined) throw new StoreError('store_unavailable', NOT_AWAITED)
  return (ended as { readonly result: R }).result
}

const NOT_AWAITED =
  'The transaction of the driver ended before its work did: it must await the function that is passed to it, as in transaction: (work) => db.transaction(work).'

export const NOT_COMMITTED =
  'The library ended the transaction without a COMMIT: the handler left a nested transaction open, or ended the transaction itself. Nothing is kept, and the event runs again.'
