import { startBackgroundTimer } from './deadline.js'
import { RunError } from './errors.js'
import type { HeldLease } from './lease.js'
import { HANDLED, type Outcome, outcomeOfFault, outcomeOfThrown } from './outcome.js'

/** An abort signal that costs nothing until somebody asks for it. */
export interface LazyAbort {
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

export function lazyAbort(): LazyAbort {
  let controller: AbortController | undefined
  let aborted: { reason: unknown } | undefined
  return {
    get signal() {
      if (controller === undefined) {
        controller = new AbortController()
        if (aborted !== undefined) controller.abort(aborted.reason)
      }
      return controller.signal
    },
    abort(reason) {
      aborted ??= { reason }
      controller?.abort(reason)
    },
  }
}

/** Where the end of a run is recorded: a lease on a store, or the transaction of an inbox. */
export interface RunRecord {
  /** Calls the handler. */
  call(handler: () => unknown): unknown
  /** Records how the run ended, and gives what the sender may be told then. */
  settle(outcome: Outcome): Promise<Outcome>
  /** What the sender is told should the deadline pass while it is being recorded. */
  meanwhile(outcome: Outcome): Outcome
  /** The handler is given up: what holds its place no longer does. */
  letGo(): void
}

/** Records runs on a store. Whether that works decides nothing: once a handler has returned, a non-2xx would make a second run certain. */
export function recordOnLease(lease: HeldLease): RunRecord {
  return {
    call: (handler) => handler(),
    async settle(outcome) {
      const isDone = outcome.outcome === 'handled' || outcome.outcome === 'discarded'
      await lease.settle(isDone ? 'complete' : 'release')
      return outcome
    },
    meanwhile: (outcome) => outcome,
    letGo: lease.letGo,
  }
}

export interface RunTerms {
  readonly kind: string
  readonly callHandler: () => unknown
  /** Absent where the event runs without a record. */
  readonly record: RunRecord | undefined
  readonly maxRunMs: number
  readonly abort: LazyAbort
}

/** One run of a handler, which may outlive the delivery that started it. */
export interface Run {
  /** What the sender can be told as soon as the handler has settled, while its record may still be under way. */
  readonly outcomeSoFar: Outcome | undefined
  /** Whether the handler has settled and its end is recorded. */
  readonly isSettled: boolean
  /** The outcome when the record is settled too, or the handler is given up. Never rejects. */
  readonly finished: Promise<Outcome>
  /** The outcome when the handler has settled, given up before or not; it may never. Never rejects. */
  readonly settled: Promise<Outcome>
}

/**
 * Runs the handler and records its end when it settles, however late: a handler that was given up still completes or
 * releases by its token.
 */
export function startRun({ kind, callHandler, record, maxRunMs, abort }: RunTerms): Run {
  let soFar: Outcome | undefined
  let isSettled = false
  let timer: { clear(): void } | undefined

  const givenUp = new Promise<Outcome>((resolve) => {
    timer = startBackgroundTimer(() => {
      const error = new RunError(
        'given_up',
        `The handler of ${kind} had not settled after ${maxRunMs / 1000} s (maxRunSeconds) and is given up: with a store, its lease is no longer renewed, so that another delivery may run. Hand long work to a queue, or raise maxRunSeconds.`,
      )
      record?.letGo()
      abort.abort(error)
      resolve(outcomeOfFault(error))
    }, maxRunMs)
  })

  const settled = (async () => {
    const outcome = await outcomeOfHandler(kind, () => (record ? record.call(callHandler) : callHandler()))
    timer?.clear()
    soFar = record?.meanwhile(outcome) ?? outcome
    const recorded = (await record?.settle(outcome)) ?? outcome
    isSettled = true
    return recorded
  })()

  return {
    get outcomeSoFar() {
      return soFar
    },
    get isSettled() {
      return isSettled
    },
    finished: Promise.race([settled, givenUp]),
    settled,
  }
}

async function outcomeOfHandler(kind: string, callHandler: () => unknown): Promise<Outcome> {
  try {
    await callHandler()
    return HANDLED
  } catch (thrown) {
    return outcomeOfThrown(thrown, kind)
  }
}
