import type { CheckedChange } from '../sql/change.js'
import type { NewestChanges } from '../sql/inbox.js'
import { hexOf } from '../sql/kept-text.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { isForbidden, isMissing } from './advice.js'
import type { Database } from './database.js'
import type { CheckedDriver } from './drivers/driver.js'
import { bytes, NOW, whole } from './sql.js'
import { type Table, tableOf } from './table.js'

/** The table of the newest change of each subject, beside that of the events. */
const COLUMNS = {
  // A subject has at most 255 characters, of at most 4 bytes.
  subject: 'VARBINARY(1020) NOT NULL',
  changed_at: 'VARBINARY(30) NOT NULL',
  rank: 'BIGINT NOT NULL',
  expires_at: 'BIGINT NOT NULL',
}

export function newestTable<Tx>(
  database: Database,
  given: string,
  migrate: string,
  driver?: CheckedDriver<unknown, Tx>,
): NewestChanges<Tx> & Pick<Table, 'ddl' | 'migrate'> {
  const use = driver as CheckedDriver<unknown, Tx>
  const table = tableOf({
    database,
    given,
    suffix: '_newest',
    columns: COLUMNS,
    indexes: { expires: '(expires_at)' },
    migrate,
  })

  /** It waits for another transaction that has written the same subject, and then compares with what that one left. */
  const recording = (changes: readonly CheckedChange[], retainMs: number): string => {
    const values = changes.map(
      ({ subject, at, rank }) =>
        `(${bytes(subject)}, ${bytes(at)}, ${whole(rank)}, ${NOW} + ${whole(retainMs)})`,
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
  const reading = (changes: readonly CheckedChange[]): string => `
    SELECT CONCAT('x', HEX(subject)), CONCAT('x', HEX(changed_at)), \`rank\` FROM ${table.name}
    WHERE subject IN (${changes.map(({ subject }) => bytes(subject)).join(', ')}) FOR UPDATE`

  return {
    get name() {
      return table.name
    },
    ddl: table.ddl,
    migrate: table.migrate,

    async record(tx, changes, retainMs) {
      try {
        await use.queryHanded(tx, recording(changes, retainMs))
        const { rows } = await use.queryHanded(tx, reading(changes))
        if (rows.length !== changes.length) throw unexpectedRows()
        const stored = new Set(rows.map((row) => row.map(String).join(' ').toLowerCase()))
        return changes.map(({ subject, at, rank }) => stored.has(`${hex(subject)} ${hex(at)} ${whole(rank)}`))
      } catch (error) {
        throw error instanceof TypeError ? error : table.unavailable(error)
      }
    },

    async purge(limit) {
      try {
        return (await table.purge(use, { where: `expires_at <= ${NOW}`, by: 'expires_at', limit })).deleted
      } catch (error) {
        // A version before this table has migrated the database.
        if (isMissing(error)) return 0
        // An app that does not use recordIfNewest needs no rights on its table.
        if (isForbidden(error)) return 'forbidden'
        throw table.unavailable(error)
      }
    },
  }
}

function hex(text: string): string {
  return `x${hexOf(UTF8.encode(text))}`
}

const UTF8 = new TextEncoder()
