import { isWebhookError, RunError } from '../errors.js'
import { isError } from '../lib/errors/read-error.js'
import { isPlainObject } from '../lib/option-names.js'
import { isPromise, isThenable, type MaybePromise } from '../lib/promises.js'

/**
 * Waits for what a handler returned, and judges it by its own nature, never by the names of its fields: those are the user's data. A list
 * that holds promises is awaited like `Promise.all`. Nothing else would await `tickets.map((ticket) => issue(ticket.id))`: the event would
 * be lost, and the first rejection end the process.
 *
 * @param kind the kind of the event, for the message
 * @returns no promise if there is nothing to wait for
 * @throws the rejection of a promise; a returned `RetryLater` or `Discard`; a RunError `handler_failed` when the result shows that the
 * handler failed or has not run
 */
export function settled(returned: unknown, kind: string): MaybePromise<void> {
  if (returned === undefined) return undefined
  if (isThenable(returned)) return awaited(returned, kind)
  const parts: unknown[] = Array.isArray(returned) ? returned.flat(Number.POSITIVE_INFINITY) : [returned]
  const promises = parts.filter(isThenable)
  const checkOthers = (): void => {
    for (const part of parts) if (!isThenable(part)) checkReturned(part, kind)
  }
  return promises.length === 0
    ? checkOthers()
    : Promise.all(promises.map((one) => awaited(one, kind))).then(checkOthers)
}

async function awaited(promise: PromiseLike<unknown>, kind: string): Promise<void> {
  const settling = settled(await promise, kind)
  if (isPromise(settling)) await settling
}

/** Throws if a result that is neither promise nor list shows that the handler failed or has not run: answered 200, the event would be lost. */
function checkReturned(value: unknown, kind: string): void {
  // A RetryLater or a Discard is what it says.
  if (isWebhookError(value)) throw value
  const failure = failureIn(value)
  if (failure === undefined) return
  const { what, ...options } = failure
  throw new RunError('handler_failed', `The handler of ${kind} returned ${what}`, options)
}

interface Failure {
  readonly what: string
  readonly cause?: unknown
}

const IF_HANDLED = 'return nothing if the event was handled, and throw an error if it was not.'

function failureIn(value: unknown): Failure | undefined {
  if (typeof value === 'function') {
    return { what: 'a function, and nothing calls it: call it in the handler, and await its result.' }
  }
  if (typeof value !== 'object' || value === null) return undefined
  try {
    if (isError(value)) return { what: `an error, which counts as thrown: ${IF_HANDLED}`, cause: value }
    return failedResponse(value) ?? workNotBegun(value) ?? failedQuery(value)
  } catch {
    return undefined
  }
}

/** By its tag: a library may replace the global class, and its `fetch` return another. */
function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1)
}

function failedResponse(value: object): Failure | undefined {
  if (tagOf(value) !== 'Response') return undefined
  const { ok, status } = value as Partial<Response>
  return ok === false ? { what: `a Response with status ${status}: ${IF_HANDLED}` } : undefined
}

const LAZY: readonly string[] = ['Generator', 'AsyncGenerator', 'Iterator Helper']

/** A result that does nothing until it is used, which nothing will. Known by a mark alone: a method of any name says nothing. */
function workNotBegun(value: object): Failure | undefined {
  if (LAZY.includes(tagOf(value))) {
    return { what: 'a generator object, and nothing runs its code: run it to its end in the handler.' }
  }
  // The symbol is not of the language: libraries define it, perhaps later than this module is loaded.
  const { observable = '@@observable' } = Symbol as { readonly observable?: symbol }
  if (tagOf(value) === 'Observable' || '@@observable' in value || observable in value) {
    return { what: 'an Observable, and nothing subscribes to it: return lastValueFrom(observable).' }
  }
  return undefined
}

/** The result of supabase-js, which throws nothing: the one type that is known by its fields. */
function failedQuery(value: object): Failure | undefined {
  if (!isPlainObject(value)) return undefined
  const { data, error } = value as { readonly data?: unknown; readonly error?: unknown }
  if (data !== null || typeof error !== 'object' || error === null) return undefined
  return { what: 'a result whose data is null, with an error: throw the error.', cause: error }
}

/**
 * The error to report of what a handler threw: its own, unless that needs an explanation.
 *
 * @param kind the kind of the event, for the message
 */
export function explainThrown(thrown: unknown, kind: string): unknown {
  const mistake = mistakeIn(thrown)
  if (mistake === undefined) return thrown
  return new RunError('handler_failed', `The handler of ${kind} threw ${mistake}`, { cause: thrown })
}

function mistakeIn(thrown: unknown): string | undefined {
  try {
    const { name, code, stack, status, statusCode } = Object(thrown) as Readonly<Record<string, unknown>>
    const copied = /^(RetryLater|Discard)\b/.exec(`${name}`) ?? /^(RetryLater|Discard)\b/.exec(`${stack}`)
    if (copied !== null || code === 'retry_later' || code === 'discarded') {
      const [signal = code === 'discarded' ? 'Discard' : 'RetryLater'] = copied ?? []
      return `a copy of a ${signal}, such as a worker thread or structuredClone makes, which counts as any other error: catch it, and throw a new ${signal}.`
    }
    const success = [status, statusCode].find((one) => typeof one === 'number' && Math.floor(one / 100) === 2)
    if (success !== undefined) {
      return `something with status ${success}, and whatever is thrown is a failure. If the event was handled, return instead; if it must never be handled, throw a Discard.`
    }
  } catch {
    // A getter or a proxy that throws.
  }
  if (isError(thrown)) return undefined
  return `something that is not an Error (${typeof thrown}): throw new Error(…), so that its message and stack can be reported.`
}
