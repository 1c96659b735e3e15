import { RunError } from '../errors.js'
import { isError } from '../lib/errors/is-error.js'

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
