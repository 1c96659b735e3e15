import { StoreError } from '../../src/index.js'
import { messageOf } from '../../src/internal.js'

/** The names that advice on a table of ours needs. */
export interface TableNames {
  /** The quoted name, as SQL has it. */
  readonly name: string
  /** The user's call that creates it. */
  readonly migrate: string
}

const CLOSED = /not open|closed|finalized/

/** The store's error for one of SQLite, with advice. */
export function unavailable(cause: unknown, { name, migrate }: TableNames): StoreError {
  const text = messageOf(cause)
  return new StoreError('store_unavailable', adviceFor(text, { name, migrate }), { cause })
}

function adviceFor(text: string, { name, migrate }: TableNames): string {
  if (/no such table/.test(text)) {
    return `The table ${name} is missing: run ${migrate} when your app starts, or apply its ddl.`
  }
  if (/no such column|has no column|ON CONFLICT clause does not match/.test(text)) {
    return `The table ${name} was created by another version or another program: ${migrate} lists the differences.`
  }
  if (/readonly|read-only/.test(text)) {
    return 'This SQLite database is read-only: open it for writing, in a folder that the process may write to.'
  }
  if (/unable to open/.test(text)) {
    return 'SQLite could not open the file, or its -wal and -shm beside it: is the folder there, and may the process write to it?'
  }
  if (/is full/.test(text)) {
    return 'The disk of this SQLite database is full, or the database has max_page_count pages. Nothing is lost: the sender retries.'
  }
  if (CLOSED.test(text)) return 'The database is closed: drain the receiver before you close it.'
  if (/connection is busy/.test(text)) {
    return 'Other code is going through the rows of a query on this connection: give tix-webhooks a connection of its own, or read all rows at once.'
  }
  if (/(within|inside) a transaction/.test(text)) {
    return 'This connection is in a transaction that other code began: give tix-webhooks a connection of its own, or keep transactions synchronous.'
  }
  if (/table is locked/.test(text)) {
    return 'This connection, or one with the same shared cache, is in a transaction that other code began: give tix-webhooks a connection of its own, without cache=shared.'
  }
  if (/locked|busy/i.test(text)) {
    return 'Another process held the database for longer than busy_timeout: is one of them in a long transaction?'
  }
  if (/no such savepoint|no transaction is active/.test(text)) {
    return 'The effects ended the transaction of the inbox (COMMIT, ROLLBACK, OR ROLLBACK, or a full disk whose error they caught): what they wrote after that is kept without the record.'
  }
  if (/FOREIGN KEY constraint failed/.test(text)) {
    return 'SQLite rolled back all that the effects had written: a deferred foreign key failed at COMMIT. Write the row that it refers to in the same effects.'
  }
  return 'SQLite could not run the statement: is the disk full, or the file damaged?'
}
