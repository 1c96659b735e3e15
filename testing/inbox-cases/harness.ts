import type { IdempotencyStore, Inbox } from '../../src/index.js'

/** The moment at which a connection is lost: at once; before its next COMMIT reaches the server; before the reply to that COMMIT arrives. */
export type InboxCut = 'now' | 'before commit' | 'after commit'

/**
 * The inbox under test: how to create it, to write and read an effect, and to break its transactions. A member is null if that cannot
 * happen with the database: the cases that need it then test nothing.
 *
 * @typeParam Tx the transaction that handlers get
 * @example
 * ```ts
 * import type { Pool, PoolClient } from 'pg'
 * import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
 * import type { InboxHarness } from 'tix-webhooks/testing'
 *
 * export function harnessOf(open: (max: number) => Pool, mine: Pool, proxy: Pick<InboxHarness<unknown>, 'cut'>): InboxHarness<PoolClient> {
 *   return {
 *     create: async ({ connections }) => postgresInbox(open(connections)),
 *     write: (tx, id) => tx.query('INSERT INTO effects VALUES ($1)', [id]),
 *     read: async () => (await mine.query('SELECT id FROM effects')).rows.map(({ id }) => id),
 *     fail: (tx) => tx.query('SELECT 1 / 0'),
 *     async nest(tx, work) {
 *       await tx.query('SAVEPOINT nested')
 *       await work(tx)
 *       await tx.query('RELEASE SAVEPOINT nested')
 *     },
 *     cut: proxy.cut,
 *     advance: null,
 *     store: async () => postgresStore(mine),
 *   }
 * }
 * ```
 */
export interface InboxHarness<Tx> {
  /**
   * Returns an inbox that is ready for use, with its own connections: at most `connections` at the same time. All of them share one
   * database, which need not be empty. Close what you open.
   */
  create(options: { readonly connections: number }): Promise<Inbox<Tx>>
  /** Writes a row with this id through the transaction. */
  write(tx: Tx, id: string): Promise<unknown>
  /** Returns the ids of all committed rows, over a connection that is not the inbox's. */
  read(): Promise<readonly string[]>
  /** Sends a statement that fails in the database, and rejects: if there are several ways, in the one that harms the transaction most. */
  readonly fail: ((tx: Tx) => Promise<unknown>) | null
  /** Calls `work` in a transaction within the transaction, as the library does, or between a SAVEPOINT and its end. */
  readonly nest: ((tx: Tx, work: (inner: Tx) => Promise<void>) => Promise<unknown>) | null
  /**
   * Cuts connections of the inboxes: `now` all of them; `before commit` the next one that sends a COMMIT, which must not reach the server;
   * `after commit` the next one whose COMMIT has been executed, but not its reply. For the last two it resolves when that is prepared.
   */
  readonly cut: ((when: InboxCut) => Promise<unknown>) | null
  /** Makes `ms` milliseconds pass for all records: advances the clock of the inbox, or moves all stored dates back. */
  readonly advance: ((ms: number) => Promise<unknown>) | null
  /** Returns a store on the table of the inboxes, as while an app changes from one to the other. */
  readonly store: (() => Promise<IdempotencyStore>) | null
  /** The milliseconds after which a case fails that has not ended, such as one that waits for a connection. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

/** The members of a harness that may be null. */
export type InboxNeed = 'fail' | 'nest' | 'cut' | 'advance' | 'store'

export function checkHarness(harness: { readonly [Name in keyof InboxHarness<unknown>]?: unknown }): void {
  for (const name of ['create', 'write', 'read'] as const) {
    if (typeof harness?.[name] === 'function') continue
    throw new TypeError(
      `The harness has no ${name} function: pass { create, write, read, fail, nest, cut, advance, store }, as InboxHarness describes them.`,
    )
  }
  for (const name of ['fail', 'nest', 'cut', 'advance', 'store'] as const) {
    if (harness[name] === null || typeof harness[name] === 'function') continue
    throw new TypeError(
      `The harness has no ${name}: pass a function, as InboxHarness describes it, or null if that cannot happen with your database; the cases that need it then test nothing.`,
    )
  }
}
