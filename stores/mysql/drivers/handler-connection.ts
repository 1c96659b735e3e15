import type { MysqlConnection } from './connection.js'

/** The connection that a handler gets, in the transaction of the inbox. */
export type HandlerConnection = MysqlConnection

/**
 * The same connection without what would end the transaction of the inbox, or give the connection to another delivery. BEGIN is one of
 * these: the server commits an open transaction before it begins.
 */
export function handlerConnection(connection: MysqlConnection): HandlerConnection {
  let made = known.get(connection)
  if (made === undefined) {
    made = new Proxy(connection, {
      get(target, name) {
        if (RELEASING.has(name)) return refuseRelease
        if (ENDING.has(name)) return refuseEnd
        if (name === 'prepare') return refusePrepare
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (!SENDING.has(name)) return value.bind(target) as unknown
        return (...parameters: unknown[]) => {
          const [statement] = parameters as [string | { sql?: unknown }]
          const sql = typeof statement === 'string' ? statement : statement?.sql
          const text = String(sql).replace(COMMENTS, ' ')
          if (ENDS_OR_BEGINS.test(text)) throw inboxTransaction()
          if (COMMITS_BY_ITSELF.test(text)) throw commitsByItself()
          return Reflect.apply(value, target, parameters) as unknown
        }
      },
    })
    known.set(connection, made)
  }
  return made
}

const known = new WeakMap<MysqlConnection, HandlerConnection>()

const RELEASING = new Set<string | symbol>(['release', 'end', 'destroy', 'close', 'changeUser', 'reset'])
const ENDING = new Set<string | symbol>(['beginTransaction', 'commit', 'rollback'])
const SENDING = new Set<string | symbol>(['query', 'execute', 'queryStream', 'batch'])

const COMMENTS = /\/\*(?![!M])[\s\S]*?\*\/|(--\s|#).*$/gm
const ENDS_OR_BEGINS =
  /^\s*(BEGIN(?!\s+NOT\b)|START\s+TRANSACTION|COMMIT|ROLLBACK(?!\s+(WORK\s+)?TO)|XA|SET\s.*\bautocommit)\b/is

const COMMITS_BY_ITSELF =
  /^\s*((CREATE(\s+OR\s+REPLACE)?|DROP)(?!\s+(OR\s+REPLACE\s+)?TEMPORARY\b)|ALTER|TRUNCATE|RENAME|(UN)?LOCK\s+TABLES?|FLUSH|GRANT|REVOKE|(ANALYZE|OPTIMIZE|REPAIR|CHECK)\s+(LOCAL\s+|NO_WRITE_TO_BINLOG\s+)?TABLE)\b/i

function refuseRelease(): never {
  throw new TypeError(
    'ctx.tx is the connection of the inbox, which releases it itself: remove release(), end() and destroy() from the handler.',
  )
}

function refuseEnd(): never {
  throw inboxTransaction()
}

/** It would be executed whenever it is called, also in the transaction of another delivery. */
function refusePrepare(): never {
  throw new TypeError('A statement that ctx.tx prepares would outlive the transaction: use ctx.tx.execute().')
}

function commitsByItself(): TypeError {
  return new TypeError(
    'This statement commits by itself, and with it what the handler has written so far: create, change and lock tables when you deploy, not in a handler.',
  )
}

function inboxTransaction(): TypeError {
  return new TypeError(
    'ctx.tx is in the transaction of the inbox, so it can neither begin nor end one: write through it directly, and put SAVEPOINT and ROLLBACK TO SAVEPOINT around what may fail.',
  )
}
