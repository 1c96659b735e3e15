import { callSafely } from './call-safely.js'
import type { Deadline } from './deadline.js'
import type { Delivery, Facts } from './delivery.js'
import { ConfigurationError } from './errors.js'
import type { ErrorContext } from './options.js'
import { isFault, type Outcome, statusOf } from './outcome.js'
import type { Run } from './run.js'
import type { Settings } from './settings.js'

type Listeners<Request> = Pick<Settings<Request>, 'onDelivery' | 'onError'>

/** Tells the user what becomes of one delivery; nothing is decided by it. The facts are read when something is told. */
export class Report<Request = unknown> {
  constructor(
    private readonly listeners: Listeners<Request>,
    private readonly delivery: Delivery<Request>,
    private readonly facts: Facts,
    private readonly deadline: Deadline,
  ) {}

  /** Something went wrong. */
  fault(error: unknown): void {
    const { onError } = this.listeners
    const { request, log } = this.delivery
    const { kind, key } = this.facts
    const where = { ...(kind === undefined ? {} : { kind }), ...(key === undefined ? {} : { key }) }
    if (onError !== undefined) callSafely(onError, error, { request, ...where })
    else callSafely(() => (log ?? console.error)(errorLine(error, where)))
  }

  /** The delivery has ended: its one record, and its fault if it ended with one. */
  end(outcome: Outcome): void {
    const { outcome: name, code, error } = outcome
    if (isFault(outcome)) this.fault(error)
    if (isAnswered(this.delivery)) this.fault(answeredByOthers(name))
    const { onDelivery } = this.listeners
    if (onDelivery === undefined) return
    callSafely(onDelivery, {
      outcome: name,
      status: statusOf(outcome),
      ...(code === undefined ? {} : { code }),
      ...this.facts,
      durationMs: this.deadline.elapsedMs,
      ...(error === undefined ? {} : { error }),
    })
  }

  /** A run goes on though the sender has its answer: how it ends then is for the log alone. */
  lateEnd(run: Run, answered: Outcome): void {
    const told = new Set([answered.error])
    const tell = (end: Outcome): void => {
      if (isFault(end) && !told.has(end.error)) this.fault(end.error)
      told.add(end.error)
    }
    void run.finished().then(tell)
    void run.settled.then(tell)
  }
}

function isAnswered({ isAnswered }: Delivery): boolean {
  try {
    return isAnswered?.() === true
  } catch {
    return false
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
  const message = messageOf(error)
  const line = `tix-webhooks: ${where === '' ? '' : `[${where}] `}${message}`
  // One line, whatever is in it: a line break could forge the next entry of the log.
  const printable = line.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
  return printable.length > MAX_LINE_LENGTH ? `${printable.slice(0, MAX_LINE_LENGTH)}…` : printable
}

/** A thrown value is somebody else's: reading its message may throw too. */
function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    return 'an error whose message cannot be read'
  }
}
