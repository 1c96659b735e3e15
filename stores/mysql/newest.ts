import type { Change } from '../../src/index.js'
import { checkChanges } from '../sql/change.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { isForbidden, isMissing } from './advice.js'
import { retryConflicts } from './conflicts.js'
import type { Database } from './database.js'
import type { Ask, CheckedDriver } from './drivers/driver.js'
import { bytes, inMs, whole } from './sql.js'
import { pastRetention, type Table, tableOf } from './table.js'

/** The table of the newest change of each subject, beside that of the records. */
export interface NewestTable extends Pick<Table, 'ddl' | 'migrate'> {
  /**
   * Records each change unless a newer one of its subject was applied before.
   *
   * @param tx the transaction of a handler
   * @returns whether each change was recorded, in the order given
   */
  record(tx: unknown, changes: readonly Change[], retainMs: number): Promise<boolean[]>
  /** Deletes up to `limit` changes that are past their retention, and returns their number. Without the rights to, it warns once. */
  purge(limit: number): Promise<number>
}

const COLUMNS = {
  // A subject has at most 255 characters, of at most 4 bytes.
  subject: 'VARBINARY(1020) NOT NULL',
  changed_at: 'VARBINARY(30) NOT NULL',
  rank: 'BIGINT NOT NULL',
  expires_at: 'DATETIME(6) NOT NULL',
}

type Checked = ReturnType<typeof checkChanges>

export function newestTable(
  database: Database,
  given: string,
  driver: CheckedDriver<unknown, unknown> | undefined,
  migrate: string,
): NewestTable {
  const table = tableOf({
    database,
    given,
    suffix: '_newest',
    columns: COLUMNS,
    indexes: { expires: '(expires_at)' },
    expired: pastRetention(),
    migrate,
  })
  const use = driver as CheckedDriver<unknown, unknown>
  let hasWarned = false

  /** It waits for another transaction that has written the same subject, and then compares with what that one left. */
  const recording = (changes: Checked, retainMs: number): string => {
    const values = changes.map(
      ({ subject, at, rank }) => `(${bytes(subject)}, ${bytes(at)}, ${whole(rank)}, ${inMs(retainMs)})`,
    )
    // True before and after each assignment, which are made one after the other.
    const isNewer =
      '(changed_at < VALUES(changed_at) OR changed_at = VALUES(changed_at) AND `rank` <= VALUES(`rank`))'
    return `
    INSERT INTO ${table.name} (subject, changed_at, \`rank\`, expires_at) VALUES ${values.join(', ')}
    ON DUPLICATE KEY UPDATE
      expires_at = IF(${isNewer}, GREATEST(expires_at, VALUES(expires_at)), expires_at),
      \`rank\` = IF(${isNewer}, VALUES(\`rank\`), \`rank\`),
      changed_at = IF(${isNewer}, VALUES(changed_at), changed_at)`
  }

  /** Locked, so that it reads the current row, and not that of the transaction's first read. */
  const reading = (changes: Checked): string => `
    SELECT CONCAT('x', HEX(subject)), CONCAT('x', HEX(changed_at)), \`rank\` FROM ${table.name}
    WHERE subject IN (${changes.map(({ subject }) => bytes(subject)).join(', ')}) FOR UPDATE`

  function warnOnce(): void {
    if (hasWarned) return
    hasWarned = true
    console.warn(
      `tix-webhooks: the changes of recordIfNewest past their retention are not deleted, because the user of this connection has no rights on ${table.name}: GRANT SELECT, UPDATE and DELETE on it.`,
    )
  }

  return {
    ddl: table.ddl,
    migrate: table.migrate,

    async record(tx, changes, retainMs) {
      const checked = checkChanges(changes)
      if (checked.length === 0) return []
      try {
        await use.queryHanded(tx, recording(checked, retainMs))
        const { rows } = await use.queryHanded(tx, reading(checked))
        if (rows.length !== checked.length) throw unexpectedRows()
        const stored = new Set(rows.map((row) => row.map(String).join(' ').toLowerCase()))
        const newest = new Set(
          checked
            .filter(({ subject, at, rank }) => stored.has(`${hex(subject)} ${hex(at)} ${whole(rank)}`))
            .map(({ subject }) => subject),
        )
        return changes.map(({ subject }) => newest.has(subject))
      } catch (error) {
        throw error instanceof TypeError ? notInTransaction(error) : table.unavailable(error)
      }
    },

    async purge(limit) {
      try {
        return await retryConflicts(() =>
          use.transaction(async (tx) => {
            const ask: Ask = (sql) => use.query(tx, sql)
            await table.find(ask)
            return table.purge(ask, limit)
          }),
        )
      } catch (error) {
        // A version before this table has migrated the database.
        if (isMissing(error)) return 0
        // An app that does not use recordIfNewest needs no rights on its table.
        if (!isForbidden(error)) throw table.unavailable(error)
        warnOnce()
        return 0
      }
    },
  }
}

function hex(text: string): string {
  let digits = 'x'
  for (const byte of UTF8.encode(text)) digits += byte.toString(16).padStart(2, '0')
  return digits
}

const UTF8 = new TextEncoder()

function notInTransaction(cause: unknown): TypeError {
  return new TypeError(
    'recordIfNewest was not called in the transaction of the inbox, so nothing of it is kept: pass ctx.tx itself, also within a savepoint.',
    { cause },
  )
}
