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
    const { kind, key } = this.facts
    const where = { ...(kind === undefined ? {} : { kind }), ...(key === undefined ? {} : { key }) }
    if (onError === undefined) this.log(errorLine(error, where))
    else callSafely(() => onError(error, { request: this.delivery.request, ...where }))
  }

  /** No handler wants its kind, and nothing else of the receiver would say so. */
  unwanted(): void {
    const { kind = '' } = this.facts
    if (this.listeners.onDelivery === undefined) this.log(logLine(kind, UNWANTED))
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

  private log(line: string): void {
    callSafely(() => (this.delivery.log ?? console.error)(line))
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

/** What is said of a kind that no handler wants. */
const UNWANTED =
  'No handler wants this kind: it is answered 200 and dropped. Add it to on, or give an onUnhandled; onUnhandled: () => {} says that this is meant. Logged once for each kind.'

/** The kinds come from the sender. */
const MAX_UNWANTED_KINDS = 100
const MAX_KIND_LENGTH = 100

/** The kinds that no handler of a receiver wants, each to be logged once. */
export class UnwantedKinds {
  private readonly kinds = new Set<string>()

  /** Whether it is the first delivery of its kind. Of more than a hundred kinds, the later ones are passed over. */
  isNew(kind: string): boolean {
    const known = kind.slice(0, MAX_KIND_LENGTH)
    if (this.kinds.size >= MAX_UNWANTED_KINDS || this.kinds.has(known)) return false
    this.kinds.add(known)
    return true
  }
}

function isAnswered(delivery: Delivery): boolean {
  try {
    return delivery.isAnswered?.() === true
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
 * A line break could forge the next entry of the log; a character that changes the direction of text, or has no width, could
 * make a line read as another.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu

/**
 * The default report: the message alone. A stack or a cause is left out because it can quote the payload, as the text of
 * a JSON error does.
 */
function errorLine(error: unknown, { kind, key }: Pick<ErrorContext, 'kind' | 'key'>): string {
  const where = [kind, key].filter((part) => part !== undefined).join(' ')
  const message = messageOf(error)
  return logLine(where, message)
}

/** One line of the log, that shows all that is in it. */
function logLine(where: string, message: string): string {
  const line = `tix-webhooks: ${where === '' ? '' : `[${where}] `}${message}`
  const shown = line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line
  return shown.replace(UNPRINTABLE, ' ')
}

/** A thrown value is somebody else's: reading its message may throw too. */
function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    return 'an error whose message cannot be read'
  }
}
