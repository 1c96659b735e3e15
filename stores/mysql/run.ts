import {
  isDiscard,
  type JoinedRequest,
  type OnceRequest,
  type OnceResult,
  StoreError,
  type WebhookError,
} from '../../src/index.js'
import { ROLLBACK_MS, tokenSource, within } from '../../src/internal.js'
import { hasEnded, isAbout } from './advice.js'
import { retryConflicts } from './conflicts.js'
import { CHECK_MARK, type CheckedDriver, type Ending } from './drivers/driver.js'
import {
  denialOf,
  flushed,
  handledOf,
  type InboxTables,
  type Opening,
  opener,
  proofOf,
  touching,
  withdrawing,
} from './open.js'
import type { Table } from './table.js'

export interface Runner<Tx> {
  readonly run: Run<Tx>
  /** Begins and ends a transaction as `run` does, for an event that nobody has, and keeps nothing of it. */
  check(): Promise<void>
}

/** The failures that an inbox is joined with. */
export interface RunFailures {
  readonly table: Table
  /** Whether that of this key is parked, and that is on disk. */
  isParked(key: string): Promise<boolean>
}

/** Runs a handler in a transaction. It resolves to `parked` only with failures. */
type Run<Tx> = (
  request: OnceRequest | JoinedRequest,
  work: (tx: Tx) => Promise<void>,
) => Promise<OnceResult | { readonly status: 'parked' }>

/**
 * Returns what runs handlers in transactions, which are committed together with the record of the event. With failures, they
 * remove that of the event.
 */
export function runnerOf<Tx>(
  driver: CheckedDriver<unknown, Tx>,
  tables: InboxTables,
  idleMs: number,
  failures?: RunFailures,
): Runner<Tx> {
  const { records } = tables
  const open = opener(driver, tables, failures?.table)
  const nextRun = tokenSource(() => crypto.randomUUID())
  const without = failures === undefined ? undefined : runnerOf(driver, tables, idleMs)

  /**
   * Calls the handler in a transaction that begins with the record; an error of the handler rolls back both. If it could not begin because of
   * the failures alone, it returns why.
   */
  async function transact(
    request: OnceRequest | JoinedRequest,
    work: (tx: Tx) => Promise<void>,
  ): Promise<Awaited<ReturnType<Run<Tx>>> | { readonly status: 'unusable'; readonly error: WebhookError }> {
    const { key } = request
    const run = nextRun()
    let thrown: { error: unknown } | undefined
    let hasBegun = false
    /** Whether the transaction has ended early; `undefined` if it could not be asked. */
    let isMarkLost = false as boolean | undefined

    async function inTransaction(tx: unknown, handed: Tx): Promise<Opening> {
      const opening = await open(tx, request, run)
      if (opening.status !== 'opened') return opening
      hasBegun = true
      try {
        await work(handed)
      } catch (error) {
        thrown = { error }
        // Not the error itself, which may be of another server, or have a code by which a library would run it again. Only without a key no
        // statement of ours has shown whether this server takes writes.
        const cause = key === null ? error : undefined
        throw new Error('The handler failed, so its transaction is rolled back.', { cause })
      }
      return opening
    }

    function endingOf({ status }: Opening): Ending {
      // The statement that has found the record has also touched it: the commit waits until both are on disk.
      if (status === 'duplicate') return { commits: true }
      if (status !== 'opened') return { commits: false }
      return { commits: true, isMarked: true, proof: key === null ? undefined : proofOf(records, key, run) }
    }

    const onMarkLost = (isKnown: boolean): void => {
      isMarkLost = isKnown || undefined
    }
    const isMarked = (): boolean => hasBegun

    try {
      const { status } = await retryConflicts(
        () => driver.transaction(inTransaction, endingOf, { idleMs, isMarked, onMarkLost }),
        () => !hasBegun,
      )
      return { status: await answered(status, request) }
    } catch (error) {
      const hasEndedEarly = isMarkLost === true || (thrown === undefined && hasEnded(error))
      if (key !== null && (hasEndedEarly || isMarkLost === undefined)) {
        if (await withdraw(key, run, hasEndedEarly)) throw committedEarly(error)
      }
      if (thrown !== undefined) throw thrown.error
      if (hasEndedEarly) throw key === null ? endedSomehow(error) : endedEarly(error)
      const table = failures?.table
      const { unavailable } = table !== undefined && isAbout(error, table) ? table : records
      if (table !== undefined && !hasBegun && isAbout(error, table)) {
        return { status: 'unusable', error: table.unavailable(error) }
      }
      throw unavailable(error)
    }
  }

  /** The answer once the transaction is over. Without a run it rests on what is committed, and is as durable as that. */
  async function answered(
    status: Opening['status'],
    request: OnceRequest | JoinedRequest,
  ): Promise<Awaited<ReturnType<Run<Tx>>>['status']> {
    if (status === 'opened') return 'handled'
    if (status === 'duplicate') return 'duplicate'
    if (status === 'parked') {
      const { failureKey } = request as JoinedRequest
      return (await failures?.isParked(failureKey)) === true ? 'parked' : 'in_flight'
    }
    const key = request.key as string
    const denial = await driver.reading((ask) => denialOf(ask, tables, key))
    if (denial === 'duplicate') await flushed(driver, records, key)
    return denial
  }

  /**
   * Whether a statement of the handler has committed the record of a run that failed: it is removed, or the event would be taken for
   * handled.
   *
   * @param isLikely whether the transaction is known to have ended early, and not only its connection
   */
  async function withdraw(key: string, run: string, isLikely: boolean): Promise<boolean> {
    const withdrawn = retryConflicts(async () => {
      const { rows } = await driver.reading((ask) => ask(proofOf(records, key, run)))
      if (rows.length > 0) await driver.transaction((tx) => driver.query(tx, withdrawing(records, key, run)))
      return rows.length > 0
    })
    try {
      return isLikely ? await withdrawn : await within(withdrawn, ROLLBACK_MS, () => false)
    } catch (cause) {
      if (isLikely) throw notWithdrawn(key, records.name, cause)
      return false
    }
  }

  async function check(): Promise<void> {
    const run = nextRun()
    const key = `check/${run}`
    const ofNobody = async (tx: unknown): Promise<void> => {
      const { status } = await open(tx, { key, retainMs: 1 }, run)
      await driver.query(tx, touching(records, key))
      await records.check((sql) => driver.query(tx, sql))
      // Without it, its slot is that of an event that runs.
      if (status === 'opened') await driver.query(tx, CHECK_MARK)
    }
    try {
      await retryConflicts(() => driver.transaction(ofNobody, () => ({ commits: false }), { idleMs }))
      await driver.reading(async (ask) => {
        await denialOf(ask, tables, key)
        await ask(handledOf(records, key))
      })
    } catch (error) {
      throw records.unavailable(error)
    }
  }

  async function run(...[request, work]: Parameters<Run<Tx>>): ReturnType<Run<Tx>> {
    try {
      const ended = await transact(request, work)
      if (ended.status !== 'unusable') return ended
      if ('report' in request) request.report(ended.error)
      return await (without as Runner<Tx>).run(request, work)
    } catch (error) {
      if (!isDiscard(error)) throw error
    }
    // The handler's writes are rolled back, and so is the record: it gets a transaction of its own.
    if (request.key === null && failures === undefined) return { status: 'discarded' }
    // With failures, whether or not another delivery has parked that of the event meanwhile.
    const ended = await transact({ ...request, runsParked: true }, async () => {})
    if (ended.status === 'unusable') throw ended.error
    return ended.status === 'handled' ? { status: 'discarded' } : ended
  }

  return { run, check }
}

function endedEarly(cause: unknown): StoreError {
  return new StoreError(
    'rolled_back',
    'The database rolled back the transaction in the middle of the handler, which went on: after a deadlock (error 1213) or a time-out of a lock that it caught, or by a ROLLBACK. All that it wrote is rolled back, and the event runs again. Let such an error leave the handler.',
    { cause },
  )
}

function notWithdrawn(key: string, table: string, cause: unknown): StoreError {
  return new StoreError(
    'rolled_back',
    `The transaction of the inbox ended in the middle of the handler, and the record of the event may be committed and could not be removed: its retries would be duplicates. Delete the record ${key} from ${table} if the event is to run again.`,
    { cause },
  )
}

/** For an event without a key: no record shows how the transaction ended. */
function endedSomehow(cause: unknown): StoreError {
  return new StoreError(
    'rolled_back',
    'The transaction of the inbox ended in the middle of the handler: rolled back, after a deadlock (error 1213) that it caught, or committed, by CREATE, ALTER, DROP, TRUNCATE or another statement that commits by itself. What it wrote after that is rolled back, and the event runs again. Let such an error leave the handler, and keep such statements out of it.',
    { cause },
  )
}

function committedEarly(cause: unknown): StoreError {
  return new StoreError(
    'rolled_back',
    'The handler COMMITTED the transaction of the inbox in the middle: by CREATE, ALTER, DROP, TRUNCATE, LOCK TABLES or another statement that commits by itself, or by BEGIN or COMMIT. What it wrote before that is kept, what it wrote after is rolled back, and the event runs again: effects can double. Keep such statements out of handlers.',
    { cause },
  )
}
