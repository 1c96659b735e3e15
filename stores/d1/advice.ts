import { StoreError } from '../../src/index.js'
import { messageOf } from '../../src/internal.js'

/** Advice on an error of D1, by its message. */
const ADVICE: readonly [says: RegExp, code: 'store_unavailable' | 'store_full', message: string][] = [
  [
    /no such table/,
    'store_unavailable',
    'The table of the D1 store is missing: apply its ddl as a migration (wrangler d1 migrations apply), or call store.migrate() once.',
  ],
  [
    /no such column|has no column|ON CONFLICT clause does not match|SQLITE_CONSTRAINT|SQLITE_MISMATCH/,
    'store_unavailable',
    'The table of the D1 store was created by another version or another program: store.migrate() lists the differences.',
  ],
  [
    /SQLITE_FULL|maximum DB size|database or disk is full/i,
    'store_full',
    'The D1 database is full: purge it more often (store.purge() in a cron trigger), or give the store a database of its own.',
  ],
]

/** The store's error for one of D1, with advice. */
export function unavailable(cause: unknown): StoreError {
  const text = messageOf(cause)
  const [
    ,
    code = 'store_unavailable' as const,
    message = 'D1 could not be reached, is overloaded, or gave an invalid answer. Nothing is lost.',
  ] = ADVICE.find(([says]) => says.test(text)) ?? []
  return new StoreError(code, message, { cause })
}
