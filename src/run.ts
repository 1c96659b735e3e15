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

export interface RunTerms {
  readonly kind: string
  readonly callHandler: () => unknown
  /** Absent where the event runs without a record. */
  readonly lease: HeldLease | undefined
  readonly maxRunMs: number
  readonly abort: LazyAbort
}

/** One run of a handler, which may outlive the delivery that started it. */
export interface Run {
  /** The outcome as soon as the handler has settled, while its record may still be under way. */
  readonly outcomeSoFar: Outcome | undefined
  /** The outcome when the record is settled too, or the handler is given up. Never rejects. */
  readonly finished: Promise<Outcome>
  /** The outcome when the handler has settled, given up before or not; it may never. Never rejects. */
  readonly settled: Promise<Outcome>
}

/**
 * Runs the handler and settles its lease when it settles, however late: a handler that was given up still completes or
 * releases by its token.
 */
export function startRun({ kind, callHandler, lease, maxRunMs, abort }: RunTerms): Run {
  let known: Outcome | undefined
  let timer: { clear(): void } | undefined

  const givenUp = new Promise<Outcome>((resolve) => {
    timer = startBackgroundTimer(() => {
      const error = new RunError(
        'given_up',
        `The handler of ${kind} had not settled after ${maxRunMs / 1000} s (maxRunSeconds) and is given up: its lease is no longer renewed, so that another delivery may run. Hand long work to a queue, or raise maxRunSeconds.`,
      )
      lease?.letGo()
      abort.abort(error)
      resolve(outcomeOfFault(error))
    }, maxRunMs)
  })

  const settled = (async () => {
    known = await outcomeOfHandler(kind, callHandler)
    timer?.clear()
    await lease?.settle(known.outcome === 'handled' || known.outcome === 'discarded' ? 'complete' : 'release')
    return known
  })()

  return {
    get outcomeSoFar() {
      return known
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
