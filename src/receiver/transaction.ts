import { StoreError } from '../errors.js'
import type { Inbox, OnceRequest, OnceResult } from '../idempotency/inbox.js'
import { callInbox } from '../idempotency/store-call.js'
import type { Deadline } from '../lib/deadline.js'
import { deferred } from '../lib/deferred.js'
import { Timers } from '../lib/timers.js'
import { DUPLICATE, inFlight, type Outcome, type OutcomeName, outcomeOfFault, RETRY_MS } from './outcome.js'
import type { RunRecord } from './run.js'

/** A transaction of an inbox that waits for its handler. Settling the run commits it or rolls it back. */
export interface OpenTransaction extends RunRecord {
  readonly tx: unknown
}

const ONCE_RESULTS: readonly unknown[] = [
  'handled',
  'discarded',
  'duplicate',
  'in-flight',
] satisfies OnceResult[]

/** How long a commit may take: whoever waits longer, such as a drain, waits for a connection that is gone. */
const COMMIT_MS = 30_000

/**
 * Opens a transaction, unless the event has been handled or is in flight.
 *
 * @param onLost hears of a transaction that ended while its handler was running: its connection was lost
 * @throws StoreError when the inbox is down, or has opened none by the deadline: one that opens later is rolled back
 */
export function openTransaction(
  inbox: Inbox<unknown>,
  request: OnceRequest,
  deadline: Deadline,
  onLost?: (reason: unknown) => void,
): Promise<OpenTransaction | 'duplicate' | 'in-flight'> {
  const opened = deferred<OpenTransaction>()
  let phase: 'opening' | 'open' | 'over' = 'opening'
  const ended = once()

  async function once(): Promise<OnceResult> {
    try {
      const result = await callInbox(() => inbox.once(request, holdOpen), readOnceResult)
      // An inbox that does not await its work would say so before there is anything to commit.
      if (phase === 'open' && isDone(result)) throw misbehaved(result)
      return result
    } catch (error) {
      if (phase === 'open') onLost?.(error)
      throw error
    } finally {
      phase = 'over'
    }
  }

  /** Keeps the transaction open until the run is settled. */
  async function holdOpen(tx: unknown): Promise<void> {
    if (deadline.passed) throw notInTime()
    // A library that tries a commit again would run the handler again.
    if (phase !== 'opening') throw calledAgain()
    phase = 'open'
    const handed = deferred<() => void>()
    const settled = deferred<Outcome>()
    let settleAs = (outcome: Outcome): Promise<Outcome> => settledAs(outcome, ended)
    opened.resolve({
      tx,
      call: (handler) =>
        new Promise((resolve, reject) => {
          handed.resolve(() => void (async () => handler())().then(resolve, reject))
        }),
      settle: (outcome) => {
        phase = 'over'
        handed.resolve(() => {})
        settled.resolve(outcome)
        return settleAs(outcome)
      },
      // Until the commit is confirmed, nothing is.
      meanwhile: (outcome) => (isDone(outcome.outcome) ? outcomeOfFault(notConfirmed()) : outcome),
      letGo: (reason) => {
        phase = 'over'
        // Whatever the handler comes to later, what it has written is gone.
        settleAs = async (outcome) => (isDone(outcome.outcome) ? outcomeOfFault(reason) : outcome)
        settled.reject(reason)
      },
      hint() {
        try {
          return inbox.hint?.() ?? ''
        } catch {}
        return ''
      },
    })
    const call = await handed.promise
    // In here, because some libraries know their transaction by the asynchronous context.
    call()
    const { outcome, error } = await settled.promise
    if (outcome !== 'handled') throw error
  }

  const opening = Promise.race([opened.promise, ended.then(withoutRun)])
  return deadline.race(opening, () => {
    throw notInTime()
  })
}

/** What the sender may be told: that it is done, only where the inbox says so too. */
async function settledAs(outcome: Outcome, ended: Promise<OnceResult>): Promise<Outcome> {
  let result: OnceResult
  try {
    result = await new Timers().within(ended, COMMIT_MS, throwNotConfirmed)
  } catch (fault) {
    // After a handler that failed this is its own error again, or that of a roll-back; unless it was the inbox that failed it.
    return isDone(outcome.outcome) || fault === outcome.error ? outcomeOfFault(fault) : outcome
  }
  if (result === 'duplicate') return DUPLICATE
  // The record of a discard is made after the roll-back, and another delivery may have come in between.
  if (result === 'in-flight') return inFlight(RETRY_MS)
  // Said to be handled though the handler failed: it may be recorded, and then nobody would run it again.
  return result === outcome.outcome ? outcome : outcomeOfFault(misbehaved(result, outcome.error))
}

function isDone(name: OutcomeName): boolean {
  return name === 'handled' || name === 'discarded'
}

function withoutRun(result: OnceResult): 'duplicate' | 'in-flight' {
  if (result === 'duplicate' || result === 'in-flight') return result
  throw misbehaved(result)
}

function readOnceResult(value: unknown): OnceResult | undefined {
  return ONCE_RESULTS.includes(value) ? (value as OnceResult) : undefined
}

function notInTime(): StoreError {
  return new StoreError(
    'store_unavailable',
    'The inbox had not opened a transaction by the deadline (timeoutSeconds): is the database slow, or its pool of connections too small for the deliveries that arrive at the same time? Nothing has run.',
  )
}

function notConfirmed(): StoreError {
  return new StoreError(
    'store_unavailable',
    'The handler returned, but the database has not confirmed the commit in time: the next delivery finds out whether it was committed.',
  )
}

function throwNotConfirmed(): never {
  throw notConfirmed()
}

function misbehaved(result: OnceResult, cause?: unknown): StoreError {
  return new StoreError(
    'store_misbehaved',
    `The inbox returned ${result}, but that is not how its work ended: see Inbox.`,
    cause === undefined ? {} : { cause },
  )
}

function calledAgain(): StoreError {
  return new StoreError(
    'store_misbehaved',
    'The inbox called its work a second time, or after it had ended: a library that retries transactions must not do so here. See Inbox.',
  )
}
