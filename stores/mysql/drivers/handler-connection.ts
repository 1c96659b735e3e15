import { type ClientRules, IN_TRANSACTION, NOT_YOURS } from '../../sql/handler-scope.js'

/** BEGIN is one of them: the server commits an open transaction before it begins. */
const ENDS_OR_BEGINS =
  /^\s*(BEGIN(?!\s+NOT\b)|START\s+TRANSACTION|COMMIT|ROLLBACK(?!\s+(WORK\s+)?TO)|XA|SET\s.*\bautocommit)\b/is

const COMMITS_BY_ITSELF =
  /^\s*((CREATE(\s+OR\s+REPLACE)?|DROP)(?!\s+(OR\s+REPLACE\s+)?TEMPORARY\b)|ALTER|TRUNCATE|RENAME|(UN)?LOCK\s+TABLES?|FLUSH|GRANT|REVOKE|(ANALYZE|OPTIMIZE|REPAIR|CHECK)\s+(LOCAL\s+|NO_WRITE_TO_BINLOG\s+)?TABLE)\b/i

const COMMITS =
  'This statement commits by itself, and with it what the handler has written so far: create, change and lock tables when you deploy, not in a handler.'
/** It would be executed whenever it is called, also in the transaction of another delivery. */
const OUTLIVES = 'A statement that ctx.tx prepares would outlive the transaction: use ctx.tx.execute().'

const NAMES = (names: string, reason: string): Record<string, string> =>
  Object.fromEntries(names.split(' ').map((name) => [name, reason]))

/** What handlers may not do with a connection of mysql2 or mariadb. */
export const CONNECTION_RULES: ClientRules = {
  sends: new Set(['query', 'execute', 'queryStream', 'batch']),
  refused: {
    ...NAMES('release end destroy close changeUser reset', NOT_YOURS),
    ...NAMES('beginTransaction commit rollback', IN_TRANSACTION),
    prepare: OUTLIVES,
  },
  refusalOf(statement) {
    if (ENDS_OR_BEGINS.test(statement)) return IN_TRANSACTION
    return COMMITS_BY_ITSELF.test(statement) ? COMMITS : undefined
  },
  // That of mysql2 with callbacks, which has streams.
  behind: 'connection',
}
