import { readProperty as read } from './read-error.js'

export const REDACTED = '[redacted]'

/** The start of an SQL statement that may contain a value: the words alone could be prose. */
const STATEMENT =
  /^[\s(]*(select|(?:insert|replace|merge)\b.{0,20}?\binto|update(?=.+?\bset\b)|delete\s+from|with(?=.+?\bas\b)|call(?=\s+\S+\())\b.*?[('"`=$?*]/is

/** Texts that end in values: the parameters below a statement of Drizzle, and the messages of Redis, MongoDB and SQL Server. */
const VALUES_AT_THE_END =
  /(^[ \t]*(?:params|parameters|bindings): |with args beginning with: |dup key: (?=\{)|duplicate key value is (?=\()).*/ims

/** Prisma writes the arguments of the call, and lines of the app's source, between this line and its message. */
const PRISMA_CALL = /^\s*(Invalid `.*?` invocation)/

/** MikroORM repeats it after the message. */
const DETAIL = /\s- detail: .*/s

/** Postgres: `Key (email)=(ada@example.com) already exists.` */
const KEY_VALUE = /\)=\(.*\)/s
const SINGLE_QUOTED = /(?<!\w)'(?:[^'\\]|''|\\.?)*(?:'|$)/gs
const DOUBLE_QUOTED = /"[^"]*(?:"|$)/g

/**
 * Whether it is an error of an SQL database, Redis or MongoDB, or of a library for them. It goes by what only those have: the errors of an app
 * have `params`, `query` or `detail` too.
 */
export function isOfDatabase(error: unknown): boolean {
  const text = (name: string): string => textOf(read(error, name))
  const has = (name: string): boolean => read(error, name) !== undefined
  const code = text('code')
  const message = textOf(error) || text('message')
  return (
    // MySQL, TypeORM, MongoDB
    ['sqlMessage', 'sqlState', 'driverError', 'keyPattern'].some(has) ||
    // Drizzle, Sequelize
    ['query', 'sql'].some((name) => STATEMENT.test(text(name))) ||
    Array.isArray(read(error, 'bindings')) ||
    // postgres.js, also if it is the connection that failed
    (has('query') && Array.isArray(read(error, 'args'))) ||
    // PostgREST
    (code !== '' && has('details') && has('hint')) ||
    // Postgres
    (/^[0-9A-Z]{5}$/.test(code) && text('severity') !== '') ||
    // SQLite, SQL Server
    /^SQLITE_|^EREQUEST$/.test(code) ||
    // ioredis
    read(read(error, 'command'), 'args') !== undefined ||
    shortened(message) !== message
  )
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The message of a database's error without the values in it. */
export function withoutValues(message: string, code: unknown): string {
  // In SQL a text in single quotes is a value; in a data exception of Postgres (class 22) also one in double quotes.
  const shown = shortened(message)
    .replace(KEY_VALUE, `)=(${REDACTED})`)
    .replace(SINGLE_QUOTED, `'${REDACTED}'`)
  return /^22[0-9A-Z]{3}$/.test(String(code)) ? shown.replace(DOUBLE_QUOTED, `"${REDACTED}"`) : shown
}

/** The message without what a library put before or after that of the database. */
function shortened(message: string): string {
  const call = PRISMA_CALL.exec(message)?.[1]
  if (call !== undefined) return `${call}: ${lastParagraph(message)}`
  // Knex and MikroORM put the values into a statement before it. The last dash: there may be more in a value.
  const own = message.replace(DETAIL, '')
  const dash = own.lastIndexOf(' - ')
  const verb = STATEMENT.exec(own.slice(0, Math.max(0, dash)))?.[1]
  const rest = verb === undefined ? message : `${verb} …${own.slice(dash)}`
  return rest.replace(VALUES_AT_THE_END, `$1${REDACTED}`)
}

/** Its sentences alone: numbered or indented lines are source. */
function lastParagraph(message: string): string {
  const lines = message.slice(message.lastIndexOf('\n\n') + 1).split('\n')
  return lines.filter((line) => /^[A-Z]/.test(line)).join('\n')
}
