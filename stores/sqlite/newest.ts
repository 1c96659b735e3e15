import type { Change } from '../../src/index.js'
import { checkChanges } from '../sql/change.js'
import { tableDdl } from '../sql/sqlite-dialect/ddl.js'
import type { SqliteDatabase } from './database.js'
import { type SqliteTable, sqliteTable } from './table.js'

/** The table of the newest change of each subject, beside that of the events. */
export interface NewestTable extends Pick<SqliteTable, 'ddl' | 'migrate'> {
  /** Records the changes that no newer one of their subject was applied before: whether it recorded each, in the order given. */
  record(changes: readonly Change[], expiresAt: number): boolean[]
  purge(limit: number, now: number): number
}

/** @param events the name of the table of the events */
export function newestTable(db: SqliteDatabase, events: string, migrate: string): NewestTable {
  const ddl = tableDdl(
    `${events}_newest`,
    {
      subject: 'TEXT NOT NULL PRIMARY KEY',
      changed_at: 'TEXT NOT NULL',
      rank: 'INTEGER NOT NULL',
      expires_at: 'INTEGER NOT NULL',
    },
    { expires_at: '(expires_at)' },
  )
  const { name } = ddl
  const table = sqliteTable(db, ddl, migrate)
  const record = `
    INSERT INTO ${name} AS stored (subject, changed_at, rank, expires_at)
    VALUES (@subject, @at, @rank, @expiresAt)
    ON CONFLICT (subject) DO UPDATE SET
      changed_at = excluded.changed_at,
      rank = excluded.rank,
      expires_at = max(stored.expires_at, excluded.expires_at)
    WHERE (stored.changed_at, stored.rank) <= (excluded.changed_at, excluded.rank)
    RETURNING 1 AS changed`
  const purge = `DELETE FROM ${name} WHERE subject IN (
      SELECT subject FROM ${name} WHERE expires_at <= @now ORDER BY expires_at LIMIT @limit
    ) RETURNING 1 AS changed`

  return {
    ddl: table.ddl,
    migrate: table.migrate,
    record(changes, expiresAt) {
      const newest = new Set<string>()
      for (const { subject, at, rank } of checkChanges(changes)) {
        if (table.all(record, { subject, at, rank, expiresAt }).length > 0) newest.add(subject)
      }
      return changes.map(({ subject }) => newest.has(subject))
    },
    // Not each app has it.
    purge: (limit, now) =>
      table.exists() ? table.transaction(() => table.all(purge, { limit, now }).length) : 0,
  }
}
