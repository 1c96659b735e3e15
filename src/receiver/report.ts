import { ConfigurationError } from '../errors.js'
import { callSafely } from '../lib/call-safely.js'
import type { Deadline } from '../lib/deadline.js'
import type { DefaultLog } from './default-log.js'
import type { Delivery, Facts } from './delivery.js'
import { isFault, isRefusal, type Outcome, statusOf } from './outcome.js'
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
    private readonly log: DefaultLog,
  ) {}

  /** Something went wrong. */
  fault(error: unknown): void {
    const { onError } = this.listeners
    const { kind, key } = this.facts
    const where = { ...(kind === undefined ? {} : { kind }), ...(key === undefined ? {} : { key }) }
    if (onError === undefined) this.log.fault(this.delivery, error, where)
    else callSafely(() => onError(error, { request: this.delivery.request, ...where }))
  }

  /** No handler wants its kind, and nothing else of the receiver would say so. */
  unwanted(): void {
    if (this.listeners.onDelivery === undefined) this.log.unwanted(this.delivery, this.facts.kind ?? '')
  }

  /** The delivery has ended: its one record, and its fault if it ended with one. */
  end(outcome: Outcome): void {
    const { outcome: name, code, error } = outcome
    if (isRefusal(outcome) && this.listeners.onError === undefined) this.log.refusal(this.delivery, error)
    else if (isFault(outcome)) this.fault(error)
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

function isAnswered(delivery: Delivery): boolean {
  try {
    return delivery.isAnswered?.() === true
  } catch {
    return false
  }
}

function answeredByOthers(outcome: string): ConfigurationError {
  return new ConfigurationError(
    `The delivery ended as ${outcome}, but the request had already been answered, and the sender got that answer: does a middleware call next() twice, or does your handler answer the request itself?`,
  )
}
