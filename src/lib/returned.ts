import { isWebhookError, RunError } from '../errors.js'
import { isThenable } from './call-safely.js'
import { isError } from './errors/is-error.js'
import { isPlainObject } from './option-names.js'

/** How deep promises are looked for: a handler may map orders to lists of tickets. */
const MAX_DEPTH = 3

/**
 * All promises in a list or a plain object as one promise, which observes each rejection; anything else as it is. Nothing else would
 * await `tickets.map((ticket) => issue(ticket.id))`: the event would be lost, and the first rejection end the process.
 */
export function awaitable(returned: unknown): unknown {
  if (typeof returned !== 'object' || returned === null) return returned
  try {
    return !isThenable(returned) && holdsPromise(returned, MAX_DEPTH)
      ? Promise.all(partsOf(returned, MAX_DEPTH))
      : returned
  } catch {
    // A getter or a proxy that throws.
    return returned
  }
}

/**
 * Waits for what a handler returned, promises in lists included, as the receiver does: for code that wraps handlers.
 *
 * @param kind the kind of the event, for the message
 * @throws the rejection of a promise; a RunError `handler_failed` when the result shows that the handler failed or has not run
 * @example
 * ```ts
 * import { settled } from 'tix-webhooks/store-kit'
 *
 * async function timed(handler: () => unknown, kind: string): Promise<number> {
 *   const startedAt = performance.now()
 *   await settled(handler(), kind)
 *   return performance.now() - startedAt
 * }
 * ```
 */
export async function settled(returned: unknown, kind: string): Promise<void> {
  let value = await awaitable(returned)
  // A promise may resolve to a list of promises.
  for (let rest = awaitable(value); rest !== value; rest = awaitable(value)) value = await rest
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

/** Makes no list of the parts, because most results hold no promise. */
function holdsPromise(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (isThenable(value)) return true
  if (depth === 0) return false
  if (Array.isArray(value)) return value.some((part) => holdsPromise(part, depth - 1))
  return (
    isPlainObject(value) && Object.keys(value).some((name) => holdsPromise(field(value, name), depth - 1))
  )
}

function partsOf(value: unknown, depth: number): readonly unknown[] {
  if (depth === 0 || typeof value !== 'object' || value === null || isThenable(value)) return [value]
  if (Array.isArray(value)) return value.flatMap((part) => partsOf(part, depth - 1))
  if (!isPlainObject(value)) return [value]
  return Object.keys(value).flatMap((name) => partsOf(field(value, name), depth - 1))
}

/** By its descriptor: a getter may begin work of its own. */
function field(value: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(value, name)?.value
}

const IF_HANDLED = 'throw an error if the event was not handled, and return nothing if it was.'

interface Failure {
  readonly what: string
  readonly cause?: unknown
}

function failureIn(returned: unknown): Failure | undefined {
  if ((typeof returned !== 'object' && typeof returned !== 'function') || returned === null) return undefined
  try {
    const parts: readonly unknown[] = Array.isArray(returned) ? returned.flat(MAX_DEPTH) : [returned]
    for (const part of parts) {
      const failure = failureOf(part)
      if (failure !== undefined) return failure
    }
  } catch {
    // A getter or a proxy that throws is no result that we know.
  }
  return undefined
}

function failureOf(value: unknown): Failure | undefined {
  if (typeof value === 'function') {
    return { what: 'a function, and nothing calls it: call it in the handler, and await its result.' }
  }
  if (typeof value !== 'object' || value === null) return undefined
  return lazyWork(value) ?? reportedFailure(value as Result)
}

/** The fields of the results that libraries return instead of throwing. */
interface Result {
  readonly ok?: unknown
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly error?: unknown
  readonly data?: unknown
  readonly reason?: unknown
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
  return undefined
}

/** The symbol is not of the language: libraries define it, perhaps later than this module is loaded. */
function isMarkedObservable(value: object): boolean {
  const { observable } = Symbol as { readonly observable?: symbol }
  return '@@observable' in value || (observable !== undefined && observable in value)
}

function reportedFailure(value: Result): Failure | undefined {
  const { ok, status, statusCode, error, data } = value
  if (isError(value)) {
    const name = isWebhookError(value) ? `a ${value.name}` : 'an error'
    return { what: `${name} instead of throwing it: throw it.`, cause: value }
  }
  if (ok === false && typeof status === 'number') {
    return { what: `a Response with status ${status}: ${IF_HANDLED}` }
  }
  if (typeof statusCode === 'number' && Math.floor(statusCode / 100) >= 4) {
    return { what: `an object with statusCode ${statusCode}: ${IF_HANDLED}` }
  }
  if (status === 'rejected' && 'reason' in value) {
    return {
      what: 'a rejected result of Promise.allSettled: throw its reason, or return nothing if the event was handled all the same.',
      cause: value.reason,
    }
  }
  if (error && (data === null || data === undefined)) {
    return { what: 'a result with an error and no data: throw the error.', cause: error }
  }
  return undefined
}
