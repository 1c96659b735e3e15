import {
  isDiscard,
  type JoinedRequest,
  type OnceRequest,
  type OnceResult,
  type WebhookError,
} from '../../src/index.js'
import { STATEMENT_MS } from '../../src/internal.js'
import { isAbout } from './advice.js'
import { requireRow } from './check.js'
import type { Commit } from './drivers/commit-check.js'
import type { CheckedDriver } from './drivers/driver.js'
import { deleting } from './failures/statements.js'
import { type Opening, opener } from './open.js'
import type { Table } from './table.js'

/** Runs a handler in a transaction. It resolves to `parked` only with failures. */
export type Run<Tx> = (
  request: OnceRequest | JoinedRequest,
  work: (tx: Tx) => Promise<void>,
) => Promise<OnceResult | { readonly status: 'parked' }>

/**
 * Returns the function that runs handlers in transactions, which are committed together with the record of the event. With failures, they
 * remove that of the event.
 */
export function runnerOf<Tx>(
  driver: CheckedDriver<unknown, Tx>,
  table: Table,
  idleMs: number,
  failures?: Table,
): Run<Tx> {
  const open = opener(driver, table, idleMs, failures)
  /**
   * Whether a failure is removed at the beginning, a round trip more, instead of with the COMMIT: once that had no right to it, because the
   * handler had taken another role, as for row-level security. Without the right at the beginning either, the failures are unusable.
   */
  let removesFirst = false
  const runWithout = failures === undefined ? undefined : runnerOf(driver, table, idleMs)

  const tableOf = (error: unknown): Table =>
    failures !== undefined && isAbout(error, failures) ? failures : table

  /**
   * Calls the handler in a transaction that begins with the record; an error of the handler rolls back both. If it could not begin because of
   * the failures alone, it returns why.
   */
  async function transact(
    request: OnceRequest | JoinedRequest,
    work: (tx: Tx) => Promise<void>,
  ): Promise<Awaited<ReturnType<Run<Tx>>> | { readonly status: 'unusable'; readonly error: WebhookError }> {
    const failureKey = failures !== undefined && 'failureKey' in request ? request.failureKey : undefined
    // A replay may be the only one of its process, which cannot know better the next time.
    const isFirst = removesFirst || ('runsParked' in request && request.runsParked)
    let thrown: { error: unknown } | undefined
    let fault = 'unavailable' as 'unavailable' | 'interrupted' | 'notCommitted'

    async function run(tx: unknown, handed: Tx): Promise<Opening> {
      const opening = await open(tx, request)
      if (opening.status !== 'opened') return opening
      // A statement of its own: its snapshot is later than the lock of the event.
      if (isFirst && failures !== undefined)
        await driver.query(tx, deleting(failures.name), [failureKey], STATEMENT_MS)
      fault = 'interrupted'
      try {
        await work(handed)
      } catch (error) {
        thrown = { error }
        // Not the error itself, which may be of another server, or have a code by which a library would run it again. Only without a key no
        // statement of ours has shown whether this server takes writes.
        const cause = request.key === null ? error : undefined
        throw new Error('The handler failed, so its transaction is rolled back.', { cause })
      }
      return opening
    }

    function commitOf(opening: Opening): Commit | null {
      if (opening.status !== 'opened') return null
      fault = 'notCommitted'
      const { id } = opening
      if (failures === undefined || failureKey === undefined || isFirst) return { id }
      return { id, failure: { table: failures.name, key: failureKey } }
    }

    try {
      let { status } = await driver.transaction(run, commitOf)
      // Another delivery may have recorded the event while the statement began: a second one finds that record.
      if (status === 'unrecorded') status = (await driver.transaction(run, commitOf)).status
      requireRow(status !== 'unrecorded', table.name)
      return { status: status === 'opened' ? 'handled' : status }
    } catch (error) {
      if (thrown !== undefined) throw thrown.error
      const concerned = tableOf(error)
      if (concerned === table) throw table[fault](error)
      if (fault === 'notCommitted') {
        removesFirst = true
        throw concerned.unavailable(error)
      }
      return { status: 'unusable', error: concerned.unavailable(error) }
    }
  }

  return async function run(request, work) {
    try {
      const ended = await transact(request, work)
      if (ended.status !== 'unusable') return ended
      if ('report' in request) request.report(ended.error)
      return await (runWithout as Run<Tx>)(request, work)
    } catch (error) {
      if (!isDiscard(error)) throw error
    }
    // The handler's writes are rolled back. The record gets a transaction of its own, because nothing can be written in one in
    // which a statement has failed.
    if (request.key === null && failures === undefined) return { status: 'discarded' }
    // With failures, whether or not another delivery has parked that of the event meanwhile.
    const ended = await transact({ ...request, runsParked: true }, async () => {})
    if (ended.status === 'unusable') throw ended.error
    return ended.status === 'handled' ? { status: 'discarded' } : ended
  }
}
