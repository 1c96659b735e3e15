import { causeOf } from './message-of.js'

const REDACTED = '[redacted]'

/** An error with one of these is taken for one of a database: they hold values, or quote the statement that contains them. */
const SIGNS = [
  'params',
  'parameters',
  'bindings',
  'values',
  'query',
  'sql',
  'sqlMessage',
  'detail',
  'where',
  'severity',
  'driverError',
] as const

/** Kept of such an error, beside its message: names in the schema, and numbers of errors. */
const KEPT = ['code', 'errno', 'sqlState', 'severity', 'schema', 'table', 'column', 'constraint'] as const

const VALUES = ['params', 'parameters', 'bindings', 'values', 'args', 'fields', 'value'] as const
const QUOTING = ['detail', 'details', 'where'] as const
const NESTED = [
  'cause',
  'parent',
  'original',
  'originalError',
  'driverError',
  'nativeError',
  'errors',
] as const

const MAX_DEPTH = 8
/** A shorter value could be any part of a word. */
const MIN_VALUE_LENGTH = 3
/** Characters of a text times values to look for: some tenths of a second. */
const MAX_WORK = 200_000_000

/**
 * An error without the bound parameters of a database: its message, stack, causes and properties may be logged. Any error that has none is
 * returned as it is. It recognizes the errors of SQL libraries and Redis clients by their properties (`params`, `parameters`, `bindings`,
 * `detail`, `command` and others); of those it keeps the class, the message, the stack, the causes, the code and the names of tables,
 * columns and constraints. The default log uses it; `onError` and `onDelivery` get the error itself.
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
export function redactError(error: unknown): unknown {
  try {
    const findings = new Findings()
    findings.search(error, 0)
    return findings.isOfDatabase ? new Redaction(findings).of(error, 0) : error
  } catch {
    return new Error('an unreadable error')
  }
}

/** The values to remove, from an error, its causes and the errors that it wraps. */
class Findings {
  isOfDatabase = false
  readonly values = new Set<string>()
  /** Messages of a database, which the app may have put into one of its own, with what they become. */
  readonly messages = new Map<string, string>()
  private readonly seen = new Set<unknown>()

  /** @param isPart of an error of a database, such as the problem of one column */
  search(error: unknown, depth: number, isPart = false): void {
    if (typeof error !== 'object' || error === null || depth > MAX_DEPTH || this.seen.has(error)) return
    this.seen.add(error)
    if (Array.isArray(error)) {
      for (const one of error) this.search(one, depth, isPart)
      return
    }
    const hasValues = isPart || isOfDatabase(error)
    if (hasValues) {
      this.isOfDatabase = true
      const message = read(error, 'message')
      if (typeof message === 'string')
        this.messages.set(message, withoutLiterals(message, read(error, 'code')))
      for (const name of VALUES) this.add(read(error, name), depth)
      this.add(read(read(error, 'command'), 'args'), depth)
      for (const name of QUOTING) this.addQuoted(read(error, name))
    }
    for (const name of NESTED) this.search(read(error, name), depth + 1, hasValues && name === 'errors')
  }

  private add(value: unknown, depth: number): void {
    if (typeof value === 'object' && value !== null) {
      if (depth > MAX_DEPTH || this.seen.has(value)) return
      this.seen.add(value)
      if (ArrayBuffer.isView(value)) this.add(String(value), depth)
      else for (const one of Object.values(value)) this.add(one, depth + 1)
    } else if (['string', 'number', 'bigint'].includes(typeof value)) {
      const text = String(value)
      if (text.trim().length >= MIN_VALUE_LENGTH) this.values.add(text)
    }
  }

  /** Postgres has the value in the text: `Key (email)=(ada@example.com) already exists.` */
  private addQuoted(text: unknown): void {
    if (typeof text !== 'string') return
    this.add(text, 0)
    this.add(/\)=\((.*)\)/s.exec(text)?.[1], 0)
  }
}

/** Copies errors without these values. */
class Redaction {
  private readonly copies = new Map<unknown, unknown>()
  private readonly messages: ReadonlyMap<string, string>
  /** The longest first: one may contain another. */
  private readonly values: readonly string[]

  constructor({ messages, values }: Findings) {
    this.messages = messages
    this.values = [...values].sort((a, b) => b.length - a.length)
  }

  /** @param isPart of an error of a database */
  of(error: unknown, depth: number, isPart = false): unknown {
    if (typeof error === 'string') return this.text(error)
    if (!isErrorLike(error))
      return typeof error === 'object' || typeof error === 'function' ? REDACTED : error
    if (depth > MAX_DEPTH) return REDACTED
    const known = this.copies.get(error)
    if (known !== undefined) return known

    const message = this.text(String(read(error, 'message') ?? ''))
    const copy = Object.setPrototypeOf(new Error(message), prototypeOf(error)) as object
    this.copies.set(error, copy)
    define(copy, 'stack', this.stack(error, message))
    const hasValues = isPart || isOfDatabase(error)
    const properties = hasValues ? KEPT : Object.keys(error)
    for (const name of properties) {
      if (name === 'message' || name === 'stack' || name === 'cause' || name === 'errors') continue
      const value = read(error, name)
      if (value !== undefined) define(copy, name, this.property(value, depth), true)
    }
    const name = read(error, 'name')
    if (typeof name === 'string' && read(copy, 'name') !== name) define(copy, 'name', name)
    const cause = causeOf(error)
    if (cause !== undefined) define(copy, 'cause', this.of(cause, depth + 1))
    const errors = read(error, 'errors')
    if (Array.isArray(errors)) {
      define(
        copy,
        'errors',
        errors.map((one) => this.of(one, depth + 1, hasValues)),
      )
    }
    return copy
  }

  private property(value: unknown, depth: number): unknown {
    return typeof value === 'object' && value !== null && !isErrorLike(value)
      ? value
      : this.of(value, depth + 1)
  }

  /** The frames are kept: they name functions and files. */
  private stack(error: object, message: string): string {
    const stack = read(error, 'stack')
    const head = `${String(read(error, 'name') ?? 'Error')}: `
    if (typeof stack !== 'string') return head + message
    const original = String(read(error, 'message') ?? '')
    const messageAt = original === '' ? -1 : stack.indexOf(original)
    const [frames = ''] =
      /\n[ \t]+at .*/s.exec(messageAt < 0 ? stack : stack.slice(messageAt + original.length)) ?? []
    return (messageAt < 0 ? head : stack.slice(0, messageAt)) + message + this.text(frames)
  }

  private text(text: string): string {
    let redacted = text
    for (const [message, shown] of this.messages) {
      if (message.length >= MIN_VALUE_LENGTH) redacted = redacted.replaceAll(message, () => shown)
    }
    redacted = redacted.replace(PARAMS_LINE, `$1${REDACTED}`)
    if (redacted.length * this.values.length > MAX_WORK) return REDACTED
    for (const value of this.values) {
      if (redacted.includes(value)) redacted = redacted.replace(wholeText(value), REDACTED)
    }
    return redacted
  }
}

/** Some libraries print the parameters below the statement. */
const PARAMS_LINE = /^([ \t]*(?:params|parameters|bindings): ).*/ims

/** A statement before the database's own message, with its parameters in it. */
const STATEMENT = /^\s*(select|insert|update|delete|merge|replace|with|call)\b.* - /is

const SINGLE_QUOTED = /(?<!\w)'(?:[^'\\]|''|\\.?)*(?:'|$)/gs
const DOUBLE_QUOTED = /"[^"]*(?:"|$)/g
const REDIS_ARGUMENTS = /(with args beginning with: ).*/s

/** In SQL a text in single quotes is a value; in a data exception of Postgres (class 22) also one in double quotes. */
function withoutLiterals(message: string, code: unknown): string {
  const unquoted = message
    .replace(STATEMENT, '$1 … - ')
    .replace(REDIS_ARGUMENTS, `$1${REDACTED}`)
    .replace(SINGLE_QUOTED, `'${REDACTED}'`)
  const isDataException = typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code)
  return isDataException ? unquoted.replace(DOUBLE_QUOTED, `"${REDACTED}"`) : unquoted
}

/** Not within a word: the value `order` is no part of the table `orders`. */
function wholeText(value: string): RegExp {
  return new RegExp(`(?<!\\w)${value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?!\\w)`, 'g')
}

function isOfDatabase(error: object): boolean {
  if (SIGNS.some((name) => read(error, name) !== undefined)) return true
  // Errors of other origin have a command or details too: of a shell, of gRPC.
  if (read(read(error, 'command'), 'args') !== undefined) return true
  if (typeof read(error, 'details') === 'string' && read(error, 'hint') !== undefined) return true
  const message = read(error, 'message')
  return typeof message === 'string' && (PARAMS_LINE.test(message) || REDIS_ARGUMENTS.test(message))
}

function isErrorLike(value: unknown): value is object {
  return typeof value === 'object' && value !== null && typeof read(value, 'message') === 'string'
}

function prototypeOf(error: object): object {
  const prototype: object | null = Object.getPrototypeOf(error)
  return prototype === null || prototype === Object.prototype ? Error.prototype : prototype
}

/** Reading a field of a foreign error may throw. */
function read(holder: unknown, name: string): unknown {
  try {
    return (holder as Readonly<Record<string, unknown>> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}

function define(target: object, name: string, value: unknown, enumerable = false): void {
  const descriptor = { __proto__: null, value, enumerable, configurable: true, writable: true }
  Object.defineProperty(target, name, descriptor as PropertyDescriptor)
}
