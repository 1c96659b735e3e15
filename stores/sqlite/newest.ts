import type { Change } from '../../src/index.js'
import { checkChanges } from '../sql/change.js'
import type { SqliteDatabase } from './database.js'
import { type SqliteTable, sqliteTable } from './table.js'

/** The table of the newest change of each subject, beside that of the records. */
export interface NewestTable extends Pick<SqliteTable, 'ddl' | 'migrate' | 'purge'> {
  /** Records the changes that no newer one of their subject was applied before: whether it recorded each, in the order given. */
  record(changes: readonly Change[], expiresAt: number): boolean[]
}

/** @param records the name of the table of the records */
export function newestTable(db: SqliteDatabase, records: string, migrate: string): NewestTable {
  const table = sqliteTable(db, {
    table: records,
    suffix: '_newest',
    columns: {
      subject: 'TEXT NOT NULL PRIMARY KEY',
      changed_at: 'TEXT NOT NULL',
      rank: 'INTEGER NOT NULL',
      expires_at: 'INTEGER NOT NULL',
    },
    migrate,
  })
  const record = `
    INSERT INTO ${table.name} AS stored (subject, changed_at, rank, expires_at)
    VALUES (@subject, @at, @rank, @expiresAt)
    ON CONFLICT (subject) DO UPDATE SET
      changed_at = excluded.changed_at,
      rank = excluded.rank,
      expires_at = max(stored.expires_at, excluded.expires_at)
    WHERE (stored.changed_at, stored.rank) <= (excluded.changed_at, excluded.rank)`

  return {
    ddl: table.ddl,
    migrate: table.migrate,
    record(changes, expiresAt) {
      const newest = new Set<string>()
      for (const { subject, at, rank } of checkChanges(changes)) {
        if (table.run(record, { subject, at, rank, expiresAt }) === 1) newest.add(subject)
      }
      return changes.map(({ subject }) => newest.has(subject))
    },
    // A version before this table has migrated the database.
    purge: (parameters) => (table.exists() ? table.purge(parameters) : 0),
  }
}
