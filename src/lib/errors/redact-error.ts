import { isOfDatabase, REDACTED, textOf, withoutValues } from './database-error.js'
import { framesOf, messageOf, readProperty as read } from './read-error.js'

/** Kept of an error of a database, beside its message: names in the schema, and numbers of errors. */
const KEPT = ['code', 'errno', 'sqlState', 'severity', 'schema', 'table', 'column', 'constraint'] as const

const VALUES = ['params', 'parameters', 'bindings', 'values', 'args', 'fields', 'value', 'keyValue'] as const
const QUOTING = ['detail', 'details', 'where'] as const
const NESTED: readonly string[] = [
  'cause',
  'errors',
  'error',
  'suppressed',
  'inner',
  'reason',
  'parent',
  'original',
  'originalError',
  'driverError',
  'nativeError',
]

const MAX_DEPTH = 30
/** The most errors that are copied for one: a getter may make a new cause each time. */
const MAX_PARTS = 10_000
/** A shorter value could be any part of a word. */
const MIN_VALUE_LENGTH = 3
/** Characters of all texts times values to look for in them: some tenths of a second. */
const MAX_WORK = 200_000_000
/** A search in a short text takes as long as reading so many characters. */
const WORK_OF_A_SEARCH = 100

/**
 * An error without the bound parameters of a database: its message, stack, causes and properties may be logged. Any error that has none is
 * returned as it is. It recognizes the errors of SQL libraries, Redis clients and MongoDB by properties and messages that only those have;
 * of those it keeps the class, the message, the stack, the causes, the code and the names of tables, columns and constraints. The default
 * log uses it; `onError` and `onDelivery` get the error itself.
 *
 * @returns a copy of the same class, or the error itself
 * @example
 * ```ts
 * import { redactError } from 'tix-webhooks'
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 *
 * export const POST = tixWebhooks({
 *   secret: process.env.TIX_SIGNING_SECRET,
 *   on: { 'order.created': handleOrder },
 *   onError: (error, { kind, key }) => logger.error({ err: redactError(error), kind, key }, 'webhook'),
 * })
 * ```
 */
export function redactError<Thrown>(error: Thrown): Thrown {
  try {
    const redaction = new Redaction(error)
    return redaction.databases.size > 0 ? (redaction.of(error, 0) as Thrown) : error
  } catch {
    return new Error('an unreadable error') as Thrown
  }
}

/** Copies an error, its causes and the errors that it wraps without the values that a database has put into any of them. */
class Redaction {
  /** The errors of a database, and the parts of such an error, such as the problem of one column. */
  readonly databases = new Set<unknown>()
  /** The replacements of the values, and of the messages of a database, which the app may have put into one of its own. */
  private readonly shown = new Map<string, string>()
  private readonly longestFirst: readonly (readonly [string, string])[]
  private readonly seen = new Set<unknown>()
  private readonly copies = new Map<unknown, unknown>()
  private work = 0

  constructor(error: unknown) {
    // The loop also reaches errors that are added while it runs, and each one once: an error may contain itself.
    const parts = new Map<unknown, boolean>([[error, false]])
    const put = (part: unknown, isPart: boolean): void => {
      if (!parts.has(part)) parts.set(part, isPart)
    }
    for (const [part, isPart] of parts) {
      if (parts.size > MAX_PARTS) throw new RangeError('too many parts')
      if (Array.isArray(part)) {
        for (const one of part) put(one, isPart)
        continue
      }
      const isDatabase = isPart || isOfDatabase(part)
      if (isDatabase) this.find(part)
      for (const name of NESTED) put(read(part, name), isDatabase && name === 'errors')
    }
    // One may contain another.
    this.longestFirst = [...this.shown].sort(([a], [b]) => b.length - a.length)
  }

  private find(error: unknown): void {
    this.databases.add(error)
    const message = textOf(error) || textOf(read(error, 'message'))
    if (message !== '' && !this.shown.has(message))
      this.shown.set(message, withoutValues(message, read(error, 'code')))
    for (const name of VALUES) this.add(read(error, name))
    this.add(read(read(error, 'command'), 'args'))
    for (const name of QUOTING) {
      const text = textOf(read(error, name))
      // Postgres has the value in it: `Key (email)=(ada@example.com) already exists.`
      this.add([text, /\)=\((.*)\)/s.exec(text)?.[1]])
    }
  }

  private add(value: unknown): void {
    if (typeof value === 'object' && value !== null) {
      if (this.seen.has(value)) return
      this.seen.add(value)
      if (ArrayBuffer.isView(value)) this.add(String(value))
      else for (const one of Object.values(value)) this.add(one)
    } else if (['string', 'number', 'bigint'].includes(typeof value)) {
      const text = String(value)
      if (text.trim().length >= MIN_VALUE_LENGTH) this.shown.set(text, REDACTED)
    }
  }

  of(error: unknown, depth: number): unknown {
    if (typeof error === 'string') return this.text(error)
    if (!isErrorLike(error)) return Object(error) === error ? REDACTED : error
    if (depth > MAX_DEPTH) return REDACTED
    const known = this.copies.get(error)
    if (known !== undefined) return known

    const name = read(error, 'name')
    const message = this.text(error.message)
    const copy = Object.setPrototypeOf(new Error(message), Object.getPrototypeOf(error)) as object
    this.copies.set(error, copy)
    // The frames have no values, but functions, files and lines that a value may equal.
    define(copy, 'stack', [`${String(name ?? 'Error')}: ${message}`, ...framesOf(error)].join('\n'))
    if (read(copy, 'name') !== name) define(copy, 'name', name)
    const isDatabase = this.databases.has(error)
    for (const own of new Set([...(isDatabase ? KEPT : Object.keys(error)), ...NESTED])) {
      const value = read(error, own)
      if (value === undefined || Object.hasOwn(copy, own)) continue
      const isEnumerable = Object.keys(error).includes(own)
      define(
        copy,
        own,
        isDatabase && !isNested(own) ? value : this.property(own, value, depth + 1),
        isEnumerable,
      )
    }
    return copy
  }

  private property(name: string, value: unknown, depth: number): unknown {
    if (Array.isArray(value) && isNested(name)) return value.map((one) => this.of(one, depth))
    return typeof value === 'string' || isErrorLike(value) || isNested(name) ? this.of(value, depth) : value
  }

  private text(text: string): string {
    const work = (text.length + WORK_OF_A_SEARCH) * this.shown.size
    if (this.work + work > MAX_WORK) return REDACTED
    this.work += work
    let redacted = this.shown.get(text) ?? text
    for (const [found, shown] of this.longestFirst) {
      if (redacted.includes(found))
        redacted = redacted.replaceAll(shown === REDACTED ? wholeText(found) : found, () => shown)
    }
    return redacted
  }
}

/** Not within a word: the value `order` is no part of the table `orders`. */
function wholeText(value: string): RegExp {
  return new RegExp(`(?<!\\w)${value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?!\\w)`, 'g')
}

function isNested(name: string): boolean {
  return NESTED.includes(name)
}

function isErrorLike(value: unknown): value is { readonly message: string } {
  return typeof value === 'object' && typeof read(value, 'message') === 'string'
}

function define(target: object, name: string, value: unknown, enumerable = false): void {
  Object.defineProperty(target, name, { value, enumerable, configurable: true, writable: true })
}

/** The message of an error of a backend, as a log or another error may show it: without bound parameters and credentials. */
export function shownMessageOf(error: unknown): string {
  return withoutCredentials(messageOf(redactError(error)))
}

/**
 * Credentials as clients and libraries quote them: the user and the password of an address, a signing secret, an `authorization`, and a value
 * that has such a name.
 */
const CREDENTIALS =
  /(?<=:\/\/)[^\s/?#]+(?=@)|\bwhsec_[\w+/=-]+|(?<=\b(?:bearer|basic) )(?=\S*[\d=])[\w.~+/=-]+|(?<=\b(?:password|passwd|pwd|secret|token|access_token|api_?key)=)[^\s&;,'"]+/gi

/** A text without the credentials that an error may quote. */
export function withoutCredentials(text: string): string {
  return text.replace(CREDENTIALS, REDACTED)
}
