import {
  type Change,
  type InboxConnections,
  isDiscard,
  type OnceRequest,
  type OnceResult,
  type OnceRun,
} from '../../src/index.js'
import { DEFAULT_RETENTION_SECONDS, type OpenResult, storableText, tokenSource } from '../../src/internal.js'
import { checkOnce } from '../lib/store-rules.js'
import { type CheckedChange, checkChanges } from './change.js'
import { HandlerFailed } from './handler-scope.js'
import { factsOf, type LedgerTable, ledgerOf, type WriteValues } from './ledger.js'
import type { CheckedInboxOptions, SqlInbox } from './options.js'
import { createPurger, type Purged } from './purge.js'
import { unexpectedRows } from './unexpected-rows.js'
import { openAnswer } from './verdict.js'

/** The write that opens a transaction; `undefined` for a plain one. */
export interface Opening {
  readonly name: 'open' | 'openReplay'
  readonly values: WriteValues
}

/** The run of a handler in a transaction. */
export interface InboxRun<Tx> {
  readonly opening: Opening | undefined
  /** How long the transaction may last, in milliseconds. */
  readonly maxRunMs: number | undefined
  /** `opening` until `work` is called, `ending` once it has resolved. */
  readonly phase: 'opening' | 'running' | 'ending'
  /** Present once the handler has thrown. */
  readonly thrown: { readonly error: unknown } | undefined
  /**
   * Calls the handler. It rejects with an error that stands for its own, which may be of another server, or have a code by which a library would
   * run the transaction again.
   */
  work(tx: Tx, attempt: number): Promise<void>
}

/** The changes of `recordIfNewest`, in a table beside that of the events. */
export interface NewestChanges<Tx> {
  /** The name of the table, for messages. */
  readonly name: string
  /**
   * Records each change unless a newer one of its subject was applied before.
   *
   * @param tx the transaction of a handler
   * @param changes in the order of their subjects
   * @returns whether each was recorded, in the same order
   * @throws TypeError when it is no transaction, or is over
   */
  record(tx: Tx, changes: readonly CheckedChange[], retainMs: number): Promise<readonly boolean[]>
  /** Deletes up to `limit` changes past their retention; `forbidden` if the user has no rights on them. */
  purge(limit: number): Promise<number | 'forbidden'>
}

/** One database with transactions, as an inbox uses it. All that reject do so with a `StoreError`, with advice and without credentials. */
export interface InboxBackend<Tx> {
  /** What it commits is on disk. */
  readonly table: LedgerTable
  /**
   * Opens a transaction by one statement, calls `run.work` if the event is given to it, and commits if that resolves.
   *
   * @throws the error of the transaction; `run.thrown.error` if the handler threw, and all is rolled back as it should be
   */
  transact(run: InboxRun<Tx>): Promise<OpenResult>
  readonly newest: NewestChanges<Tx>
  purge(limit: number, minAgeMs: number): Promise<Purged>
  readonly check: SqlInbox<Tx>['check']
  readonly migrate: SqlInbox<Tx>['migrate']
  readonly ddl: string
  readonly connections: InboxConnections | undefined
  readonly hint: NonNullable<SqlInbox<Tx>['hint']>
}

/** An inbox on a database of SQL with asynchronous transactions. */
export function sqlInbox<Tx>(
  { table, transact, newest, purge: purgeEvents, ...rest }: InboxBackend<Tx>,
  { purgeEverySeconds, retentionMs }: Pick<CheckedInboxOptions, 'purgeEverySeconds' | 'retentionMs'>,
): SqlInbox<Tx> {
  const nextToken = tokenSource(() => crypto.randomUUID())
  const { purgeAfter, purge } = createPurger(deleteExpired, purgeEverySeconds)
  let longestRetentionMs = retentionMs
  let hasWarned = false

  async function deleteExpired(limit: number, minAgeMs: number): Promise<Purged> {
    const { deleted, parked } = await purgeEvents(limit, minAgeMs)
    if (deleted >= limit) return { deleted, parked }
    // In a transaction of its own: the user may have no rights on the other table.
    const changes = await newest.purge(limit - deleted)
    if (changes === 'forbidden') warnOnce()
    return { deleted: deleted + (changes === 'forbidden' ? 0 : changes), parked }
  }

  function warnOnce(): void {
    if (hasWarned) return
    hasWarned = true
    console.warn(
      `tix-webhooks: the changes of recordIfNewest past their retention are not deleted, because the user of this connection has no rights on ${newest.name}: GRANT SELECT, UPDATE and DELETE on it.`,
    )
  }

  function valuesOf(key: string, { retainMs, about }: OnceRequest): WriteValues {
    return { key, token: nextToken(), retain_ms: Math.ceil(retainMs), ...factsOf(about) }
  }

  function openingOf(key: string, request: OnceRequest): Opening | undefined {
    const values = valuesOf(key, request)
    const { replay } = request
    if (replay === undefined) return { name: 'open', values }
    return { name: 'openReplay', values: { ...values, seen: replay.seen } }
  }

  /** The handler's writes are rolled back, so the record is written by itself. */
  async function discard(key: string, request: OnceRequest, reason: string): Promise<OnceResult> {
    const values = { ...valuesOf(key, request), reason: storableText(reason) }
    const { status } = openAnswer(await table.upsert('settle', values), false)
    return { status: status === 'opened' ? 'discarded' : status }
  }

  return {
    ...rest,
    ...ledgerOf(table),
    async once(request, work) {
      checkOnce(request)
      const { key, retainMs, maxRunMs } = request
      longestRetentionMs = Math.max(longestRetentionMs, retainMs)
      return purgeAfter(retainMs, async () => {
        const opening = key === null ? undefined : openingOf(key, request)
        try {
          const { status } = await transact(runOf(work, opening, maxRunMs))
          return { status: status === 'opened' ? 'handled' : status }
        } catch (error) {
          if (!isDiscard(error)) throw error
          return key === null ? { status: 'discarded' } : discard(key, request, error.message)
        }
      })
    },
    recordIfNewest: (async (tx: Tx, given: Change | readonly Change[]) => {
      const changes = checkChanges(given)
      const newer = await recorded(tx, changes)
      return Array.isArray(given) ? given.map(({ subject }) => newer.has(subject)) : newer.size === 1
    }) as SqlInbox<Tx>['recordIfNewest'],
    purge,
  }

  /** The subjects of which nothing newer was applied. */
  async function recorded(tx: Tx, changes: readonly CheckedChange[]): Promise<ReadonlySet<string>> {
    if (changes.length === 0) return new Set()
    // An older event may be kept for as long, and be replayed then.
    const retainMs = longestRetentionMs + DEFAULT_RETENTION_SECONDS * 1000
    const results = await newest.record(tx, changes, retainMs).catch((error) => {
      throw error instanceof TypeError ? notInTransaction(error) : error
    })
    if (results.length !== changes.length) throw unexpectedRows()
    return new Set(changes.filter((_, i) => results[i]).map(({ subject }) => subject))
  }
}

function runOf<Tx>(
  work: (tx: Tx, run: OnceRun) => Promise<void>,
  opening: Opening | undefined,
  maxRunMs: number | undefined,
): InboxRun<Tx> {
  let phase: InboxRun<Tx>['phase'] = 'opening'
  let thrown: { readonly error: unknown } | undefined
  return {
    opening,
    maxRunMs,
    get phase() {
      return phase
    },
    get thrown() {
      return thrown
    },
    async work(tx, attempt) {
      phase = 'running'
      try {
        await work(tx, { attempt })
      } catch (error) {
        thrown = { error }
        // Only of a plain transaction: no statement of ours has shown whether the server takes writes.
        const cause = opening === undefined ? error : undefined
        throw new HandlerFailed(cause)
      }
      phase = 'ending'
    },
  }
}

function notInTransaction(cause: unknown): TypeError {
  return new TypeError(
    'recordIfNewest was not called in the transaction of the inbox, so nothing of it is kept: pass ctx.tx itself, or the transaction of a savepoint in it.',
    { cause },
  )
}
