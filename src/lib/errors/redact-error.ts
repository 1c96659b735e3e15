import { isOfDatabase, REDACTED, withoutValues } from './database-error.js'
import { readProperty as read } from './read-property.js'

/** Kept of an error of a database, beside its message: names in the schema, and numbers of errors. */
const KEPT = ['code', 'errno', 'sqlState', 'severity', 'schema', 'table', 'column', 'constraint'] as const

const VALUES = ['params', 'parameters', 'bindings', 'values', 'args', 'fields', 'value', 'keyValue'] as const
const QUOTING = ['detail', 'details', 'where'] as const
const NESTED = [
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
] as const

const MAX_DEPTH = 30
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
export function redactError(error: unknown): unknown {
  try {
    const findings = new Findings(error)
    return findings.databases.size > 0 ? new Redaction(findings).of(error, 0) : error
  } catch {
    return new Error('an unreadable error')
  }
}

/** The values to remove, from an error, its causes and the errors that it wraps. */
class Findings {
  /** The errors of a database, and the parts of such an error, such as the problem of one column. */
  readonly databases = new Set<unknown>()
  readonly values = new Set<string>()
  /** Messages of a database, which the app may have put into one of its own, with what they become. */
  readonly messages = new Map<string, string>()
  private readonly added = new Set<unknown>()

  constructor(error: unknown) {
    // The loop also reaches what is put in meanwhile, and each part once: an error may contain itself.
    const parts = new Map<unknown, boolean>([[error, false]])
    for (const [part, isOfOne] of parts) {
      const isDatabase = isOfOne || isOfDatabase(part)
      if (isDatabase && !Array.isArray(part)) this.database(part)
      const put = (nested: unknown, isPart: boolean): void => {
        const mayHaveValues = typeof nested === 'string' || (typeof nested === 'object' && nested !== null)
        if (mayHaveValues && !parts.has(nested)) parts.set(nested, isPart)
      }
      if (Array.isArray(part)) for (const one of part) put(one, isOfOne)
      else for (const name of NESTED) put(read(part, name), isDatabase && name === 'errors')
    }
  }

  private database(error: unknown): void {
    this.databases.add(error)
    const message = typeof error === 'string' ? error : read(error, 'message')
    if (typeof message === 'string' && message.length >= MIN_VALUE_LENGTH)
      this.messages.set(message, withoutValues(message, read(error, 'code')))
    if (typeof error === 'string') return
    for (const name of VALUES) this.add(read(error, name))
    this.add(read(read(error, 'command'), 'args'))
    for (const name of QUOTING) this.addQuoted(read(error, name))
  }

  private add(value: unknown): void {
    if (typeof value === 'object' && value !== null) {
      if (this.added.has(value)) return
      this.added.add(value)
      if (ArrayBuffer.isView(value)) this.add(String(value))
      else for (const one of Object.values(value)) this.add(one)
    } else if (['string', 'number', 'bigint'].includes(typeof value)) {
      const text = String(value)
      if (text.trim().length >= MIN_VALUE_LENGTH) this.values.add(text)
    }
  }

  /** Postgres has the value in the text: `Key (email)=(ada@example.com) already exists.` */
  private addQuoted(text: unknown): void {
    if (typeof text !== 'string') return
    this.add(text)
    this.add(/\)=\((.*)\)/s.exec(text)?.[1])
  }
}

/** Copies errors without these values. */
class Redaction {
  private readonly copies = new Map<unknown, unknown>()
  private readonly databases: ReadonlySet<unknown>
  private readonly messages: ReadonlyMap<string, string>
  private readonly wrapped: readonly string[]
  private readonly values: readonly string[]
  private work = 0

  constructor({ databases, messages, values }: Findings) {
    this.databases = databases
    this.messages = messages
    this.wrapped = longestFirst(messages.keys())
    this.values = longestFirst(values)
  }

  of(error: unknown, depth: number): unknown {
    if (typeof error === 'string') return this.text(error)
    if (!isErrorLike(error))
      return typeof error === 'object' || typeof error === 'function' ? REDACTED : error
    if (depth > MAX_DEPTH) return REDACTED
    const known = this.copies.get(error)
    if (known !== undefined) return known

    const name = read(error, 'name')
    const message = this.text(error.message)
    const copy = Object.setPrototypeOf(new Error(message), prototypeOf(error)) as object
    this.copies.set(error, copy)
    define(copy, 'stack', `${String(name ?? 'Error')}: ${message}${framesOf(error)}`)
    if (this.databases.has(error)) {
      for (const kept of KEPT) {
        const value = read(error, kept)
        if (typeof value === 'string' || typeof value === 'number') define(copy, kept, value, true)
      }
    } else {
      for (const own of Object.getOwnPropertyNames(error)) {
        if (Object.hasOwn(copy, own)) continue
        const isEnumerable = Object.prototype.propertyIsEnumerable.call(error, own)
        define(copy, own, this.property(read(error, own), depth), isEnumerable)
      }
    }
    if (typeof name === 'string' && read(copy, 'name') !== name) define(copy, 'name', name)
    const cause = read(error, 'cause')
    if (cause !== undefined) define(copy, 'cause', this.of(cause, depth + 1))
    const errors = read(error, 'errors')
    if (Array.isArray(errors)) {
      const copies = errors.map((one) => this.of(one, depth + 1))
      define(copy, 'errors', copies)
    }
    return copy
  }

  private property(value: unknown, depth: number): unknown {
    return typeof value === 'string' || isErrorLike(value) ? this.of(value, depth + 1) : value
  }

  private text(text: string): string {
    const work = (text.length + WORK_OF_A_SEARCH) * (this.wrapped.length + this.values.length)
    if (this.work + work > MAX_WORK) return REDACTED
    this.work += work
    let redacted = this.messages.get(text)
    if (redacted === undefined) {
      redacted = text
      for (const message of this.wrapped) {
        if (redacted.includes(message))
          redacted = redacted.replaceAll(message, () => this.messages.get(message) as string)
      }
    }
    for (const value of this.values) {
      if (redacted.includes(value)) redacted = redacted.replace(wholeText(value), REDACTED)
    }
    return redacted
  }
}

/** One may contain another. */
function longestFirst(texts: Iterable<string>): readonly string[] {
  return [...texts].sort((a, b) => b.length - a.length)
}

/** Not within a word: the value `order` is no part of the table `orders`. */
function wholeText(value: string): RegExp {
  return new RegExp(`(?<!\\w)${value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}(?!\\w)`, 'g')
}

/** The frames have no values, but functions, files and lines that a value may equal. */
function framesOf(error: { readonly message: string }): string {
  const stack = String(read(error, 'stack')).replace(error.message, '')
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  return frames.map((line) => `\n${line}`).join('')
}

function isErrorLike(value: unknown): value is { readonly message: string } {
  return typeof value === 'object' && typeof read(value, 'message') === 'string'
}

function prototypeOf(error: object): object {
  const prototype: object | null = Object.getPrototypeOf(error)
  return prototype === null || prototype === Object.prototype ? Error.prototype : prototype
}

function define(target: object, name: string, value: unknown, enumerable = false): void {
  const descriptor = { __proto__: null, value, enumerable, configurable: true, writable: true }
  Object.defineProperty(target, name, descriptor as PropertyDescriptor)
}
