import { callSafely } from './call-safely.js'
import { monotonicMs } from './deadline.js'
import type { Delivery, Facts } from './delivery.js'
import { ConfigurationError } from './errors.js'
import type { ErrorContext } from './options.js'
import { isFault, type Outcome, statusOf } from './outcome.js'
import type { Run } from './run.js'
import type { Settings } from './settings.js'

/** Tells the user what happens; nothing is decided by it. */
export interface Reporter<Request> {
  /** Something went wrong. */
  fault(error: unknown, delivery: Delivery<Request>, facts: Facts): void
  /** A delivery has ended: its one record, and its fault if it ended with one. */
  end(outcome: Outcome, delivery: Delivery<Request>, facts: Facts, startedAtMs: number): void
  /** A run goes on though the sender has its answer: how it ends then is for the log alone. */
  lateEnd(run: Run, answered: Outcome, delivery: Delivery<Request>, facts: Facts): void
}

export function createReporter<Request>({
  onDelivery,
  onError,
}: Pick<Settings<Request>, 'onDelivery' | 'onError'>): Reporter<Request> {
  function fault(error: unknown, { request, log }: Delivery<Request>, { kind, key }: Facts): void {
    const where = { ...(kind === undefined ? {} : { kind }), ...(key === undefined ? {} : { key }) }
    if (onError !== undefined) callSafely(onError, error, { request, ...where })
    else callSafely(log ?? console.error, errorLine(error, where))
  }

  return {
    fault,

    end(outcome, delivery, facts, startedAtMs) {
      const { outcome: name, code, error } = outcome
      if (isFault(outcome)) fault(error, delivery, facts)
      if (delivery.isAnswered?.()) fault(answeredByOthers(name), delivery, facts)
      callSafely(onDelivery, {
        outcome: name,
        status: statusOf(outcome),
        ...(code === undefined ? {} : { code }),
        ...facts,
        durationMs: monotonicMs() - startedAtMs,
        ...(error === undefined ? {} : { error }),
      })
    },

    lateEnd(run, answered, delivery, facts) {
      const told = new Set([answered])
      const tell = (end: Outcome): void => {
        if (isFault(end) && !told.has(end)) fault(end.error, delivery, facts)
        told.add(end)
      }
      void run.finished.then(tell)
      void run.settled.then(tell)
    },
  }
}

function answeredByOthers(outcome: string): ConfigurationError {
  return new ConfigurationError(
    `The delivery ended as ${outcome}, but the request had been answered by somebody else, and that is what the sender got: does a middleware call next() twice, or your handler answer the request itself?`,
  )
}

/** A line is for a person to read: the values in a message may come from a stranger, and be long. */
const MAX_LINE_LENGTH = 1000

/**
 * The default report: the message alone. A stack or a cause is left out because it can quote the payload, as the text of
 * a JSON error does.
 */
function errorLine(error: unknown, { kind, key }: Pick<ErrorContext, 'kind' | 'key'>): string {
  const where = [kind, key].filter((part) => part !== undefined).join(' ')
  const message = error instanceof Error ? error.message : String(error)
  const line = `tix-webhooks: ${where === '' ? '' : `[${where}] `}${message}`
  // One line, whatever is in it: a line break could forge the next entry of the log.
  const printable = line.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
  return printable.length > MAX_LINE_LENGTH ? `${printable.slice(0, MAX_LINE_LENGTH)}…` : printable
}
