import { isWebhookError, RunError } from '../errors.js'
import { isThenable } from './call-safely.js'
import { isError } from './errors/is-error.js'
import { isPlainObject } from './option-names.js'

/** How deep promises are looked for: a handler may map orders to lists of tickets. */
const MAX_DEPTH = 3
/** How many values are looked at: more than a body of 1 MiB has tickets. */
const MAX_VALUES = 100_000

/**
 * One promise of all promises in a list or a plain object; anything else as it is. Nothing else would await
 * `tickets.map((ticket) => issue(ticket.id))`: the event would be lost, and the first rejection end the process.
 *
 * @param kind the kind of the event, for the message
 */
export function awaitable(returned: unknown, kind: string): unknown {
  if (typeof returned !== 'object' || returned === null || isThenable(returned)) return returned
  return promisesIn(returned).length > 0 ? settled(returned, kind) : returned
}

/**
 * Waits for what a handler returned, promises in lists included, as the receiver does: for code that wraps handlers.
 *
 * @param kind the kind of the event, for the message
 * @throws the rejection of a promise; a RunError `handler_failed` when the result shows that the handler failed or has not run
 */
export async function settled(returned: unknown, kind: string): Promise<void> {
  await settledOnce(returned, kind, new Set())
}

/** @param seen a promise may resolve to the object that holds it */
async function settledOnce(returned: unknown, kind: string, seen: Set<unknown>): Promise<void> {
  const value = await returned
  if (seen.has(value)) return
  if (typeof value === 'object') seen.add(value)
  const promises = promisesIn(value)
  if (promises.length > 0) await Promise.all(promises.map((promise) => settledOnce(promise, kind, seen)))
  checkReturned(value, kind)
}

/**
 * Throws if the result of a handler, or a part of a list, shows that the handler failed or that its work has not begun: answered 200, the
 * event would be lost.
 *
 * @throws RunError `handler_failed`, with the returned error as the cause if there is one
 */
export function checkReturned(returned: unknown, kind: string): void {
  const failure = failureIn(returned)
  if (failure === undefined) return
  const { what, cause } = failure
  throw new RunError(
    'handler_failed',
    `The handler of ${kind} returned ${what}`,
    cause === undefined ? {} : { cause },
  )
}

/** All promises in a list or a plain object, and in those within it. Not in a map or a set: `cache.set(key, promise)` returns all of it. */
function promisesIn(value: unknown): unknown[] {
  const promises: unknown[] = []
  let looked = 0

  function look(parts: Iterable<unknown>, depth: number): void {
    for (const part of parts) {
      looked += 1
      if (looked > MAX_VALUES) return
      if (typeof part !== 'object' || part === null) continue
      if (isThenable(part)) promises.push(part)
      else if (depth > 1) look(partsOf(part), depth - 1)
    }
  }

  try {
    if (typeof value === 'object' && value !== null) look(partsOf(value), MAX_DEPTH)
  } catch {
    // A getter or a proxy that throws.
  }
  return promises
}

function partsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value)) return value
  return isPlainObject(value) ? fieldsOf(value) : []
}

/** By descriptors: a getter may begin work of its own. */
function* fieldsOf(value: object): Iterable<unknown> {
  for (const name of Object.keys(value)) yield Object.getOwnPropertyDescriptor(value, name)?.value
}

const IF_HANDLED = 'throw an error if the event was not handled, and return nothing if it was.'

interface Failure {
  readonly what: string
  readonly cause?: unknown
}

function failureIn(returned: unknown): Failure | undefined {
  if ((typeof returned !== 'object' && typeof returned !== 'function') || returned === null) return undefined
  try {
    if (!Array.isArray(returned)) return failureOf(returned, false)
    let looked = 0
    for (const item of itemsOf(returned, MAX_DEPTH)) {
      looked += 1
      const failure = looked > MAX_VALUES ? undefined : failureOf(item, true)
      if (failure !== undefined || looked > MAX_VALUES) return failure
    }
  } catch {
    // A getter or a proxy that throws is no result that we know.
  }
  return undefined
}

/** The items of a list, and of the lists within it. */
function* itemsOf(list: readonly unknown[], depth: number): Iterable<unknown> {
  for (const item of list) {
    if (depth > 1 && Array.isArray(item)) yield* itemsOf(item, depth - 1)
    else yield item
  }
}

/** @param isListed among others, which may be the rows of a table */
function failureOf(value: unknown, isListed: boolean): Failure | undefined {
  if (typeof value === 'function') {
    return { what: 'a function, and nothing calls it: call it in the handler, and await its result.' }
  }
  if (typeof value !== 'object' || value === null || isThenable(value)) return undefined
  return lazyWork(value) ?? reportedFailure(value as Result, isListed)
}

/** The fields of the results that libraries return instead of throwing. */
interface Result {
  readonly ok?: unknown
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly error?: unknown
  readonly data?: unknown
  readonly exitCode?: unknown
}

/** A result that does nothing until it is used, which nothing will. */
function lazyWork(value: object): Failure | undefined {
  const { subscribe, pipe, next } = value as Readonly<Record<string, unknown>>
  if (typeof subscribe === 'function' && (typeof pipe === 'function' || isMarkedObservable(value))) {
    return { what: 'an Observable, and nothing subscribes to it: return lastValueFrom(observable).' }
  }
  if (typeof next === 'function' && (Symbol.iterator in value || Symbol.asyncIterator in value)) {
    return {
      what: 'an iterator or a generator object, and nothing runs its code: run it to its end in the handler.',
    }
  }
  if (isQuery(value)) {
    return { what: 'a query or a pipeline, and nothing executes it: await its execute() or exec().' }
  }
  // Its values have a tag: an Option, an Either, an Exit.
  if (EFFECTS.some((mark) => mark in value) && !('_tag' in value)) {
    return { what: 'an Effect, and nothing runs it: return Effect.runPromise(effect).' }
  }
  return undefined
}

/** The marks of versions 3 and 4 of the library of that name. */
const EFFECTS = [Symbol.for('effect/Effect'), '~effect/Effect']

/**
 * A query of Kysely or TypeORM, or a pipeline of Redis. A method `execute` or `exec` alone says nothing: a shell, a task, a database and
 * MikroORM's manager have one too.
 */
function isQuery(value: object): boolean {
  const { execute, exec, compile, getQuery, isPipeline, execAsPipeline } = value as Readonly<
    Record<string, unknown>
  >
  if (typeof execute === 'function') return typeof compile === 'function' || typeof getQuery === 'function'
  return typeof exec === 'function' && (isPipeline === true || typeof execAsPipeline === 'function')
}

/** The symbol is not of the language: libraries define it, perhaps later than this module is loaded. */
function isMarkedObservable(value: object): boolean {
  const { observable } = Symbol as { readonly observable?: symbol }
  return '@@observable' in value || (observable !== undefined && observable in value)
}

function reportedFailure(value: Result, isListed: boolean): Failure | undefined {
  const { ok, status, statusCode, error, data, exitCode } = value
  // zx makes errors of processes that succeeded.
  if (isError(value) && exitCode !== 0) {
    const name = isWebhookError(value) ? `a ${value.name}` : 'an error'
    return { what: `${name} instead of throwing it: throw it.`, cause: value }
  }
  // Lists hold the rows of tables, with columns of any name.
  const isRow = isListed && isPlainObject(value)
  if (!isRow && ok === false && typeof status === 'number') {
    return { what: `a Response with status ${status}: ${IF_HANDLED}` }
  }
  if (!isRow && typeof statusCode === 'number' && isHttpError(statusCode)) {
    return { what: `an object with statusCode ${statusCode}: ${IF_HANDLED}` }
  }
  // Loggers have a function of that name.
  const hasError = isRow ? typeof error === 'object' && 'data' in value : typeof error !== 'function'
  if (isError(error) || (error && hasError && (data === null || data === undefined))) {
    return { what: 'a result with an error: throw the error.', cause: error }
  }
  return undefined
}

/** Classes 4 and 5 of HTTP; a larger number is no status. */
function isHttpError(status: number): boolean {
  return [4, 5].includes(Math.floor(status / 100))
}
