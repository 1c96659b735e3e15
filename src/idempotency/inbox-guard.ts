import { COMMIT_MS, RETRY_SECONDS } from '../durations.js'
import { StoreError } from '../errors.js'
import { ignoreRejection } from '../lib/call-safely.js'
import { deferred } from '../lib/deferred.js'
import {
  CONFIRMED,
  type CommitResult,
  type Denial,
  type Execution,
  type Guard,
  type GuardedDelivery,
  type HandlerEnd,
  isDone,
} from './guard.js'
import type { Inbox, OnceRequest, OnceResult } from './inbox.js'
import { callInbox } from './store-call.js'

type OnceStatus = OnceResult['status']

const ONCE_STATUSES: readonly unknown[] = [
  'handled',
  'discarded',
  'duplicate',
  'in_flight',
] satisfies OnceStatus[]

/** Guards with the transactions of an inbox: the handler runs in one, which is committed or rolled back together with its record. */
export function inboxGuard(inbox: Inbox<unknown>, terms: Omit<OnceRequest, 'key'>): Guard {
  return { acquire: (key, delivery) => openTransaction(inbox, { key, ...terms }, delivery) }
}

/** @throws StoreError when the inbox is down, or has opened no transaction by the deadline: one that opens later is rolled back */
function openTransaction(
  inbox: Inbox<unknown>,
  request: OnceRequest,
  delivery: GuardedDelivery,
): Promise<Execution | Denial> {
  const { clock } = delivery
  const opened = deferred<Execution | Denial>()
  let phase: 'opening' | 'open' | 'over' = 'opening'
  const ended = once()
  ignoreRejection(ended)

  async function once(): Promise<OnceStatus> {
    try {
      const status = await callInbox(() => inbox.once(request, work), readOnceStatus)
      // An inbox that does not await its work reports success before there is anything to commit.
      if (phase !== 'over') opened.resolve(withoutRun(status))
      return status
    } catch (error) {
      // The connection was lost while the handler was running.
      if (phase === 'open') delivery.abort(error)
      opened.reject(error)
      throw error
    } finally {
      phase = 'over'
    }
  }

  /** The work of the inbox. An inbox that does not await it would leave its rejection unhandled. */
  function work(tx: unknown): Promise<void> {
    const held = holdOpen(tx)
    ignoreRejection(held)
    return held
  }

  /** Keeps the transaction open until the end of the handler is committed. */
  async function holdOpen(tx: unknown): Promise<void> {
    if (clock.isOver) throw notInTime()
    // A library that retries a commit would run the handler again.
    if (phase !== 'opening') throw calledAgain()
    phase = 'open'
    const handed = deferred<() => void>()
    const settled = deferred<HandlerEnd>()
    let resultFor = (end: HandlerEnd): Promise<CommitResult> => committed(end, ended, delivery)
    opened.resolve({
      status: 'granted',
      deduplicated: request.key !== null,
      tx,
      invoke: (handler) =>
        new Promise((resolve, reject) => {
          handed.resolve(() => void (async () => handler())().then(resolve, reject))
        }),
      commit(end) {
        phase = 'over'
        handed.resolve(() => {})
        settled.resolve(end)
        return resultFor(end)
      },
      // Nothing is certain until the commit is confirmed.
      unconfirmedError: (end) => (isDone(end) ? notConfirmed() : undefined),
      abandon(reason) {
        // However the handler ends later, its writes are lost.
        resultFor = async (end) => (isDone(end) ? fault(reason) : CONFIRMED)
        settled.reject(reason)
      },
      hint() {
        try {
          const hint: unknown = inbox.hint?.()
          if (typeof hint === 'string') return hint
          ignoreRejection(hint)
        } catch {}
        return ''
      },
    })
    const call = await handed.promise
    // Called here, because some libraries find their transaction by the asynchronous context.
    call()
    const { outcome, error } = await settled.promise
    if (outcome !== 'handled') throw error
  }

  return clock.inTime(opened.promise, () => {
    throw notInTime()
  })
}

/** Whether the end of the handler was recorded. A success is confirmed only if the inbox reports the same outcome. */
async function committed(
  end: HandlerEnd,
  ended: Promise<OnceStatus>,
  { clock }: GuardedDelivery,
): Promise<CommitResult> {
  let status: OnceStatus
  try {
    status = await clock.within(ended, clock.nowMs + COMMIT_MS, () => {
      throw notConfirmed()
    })
  } catch (error) {
    // After a failed handler, `once` rejects with its error, wrapped, or with that of the rollback: the handler's end stands. An error that
    // is not wrapped is one of the inbox, which the handler only passed on.
    return isDone(end) || error === end.error ? fault(error) : CONFIRMED
  }
  // The record of a discard is written after the rollback, and another delivery may have come in between.
  if (status === 'duplicate' || status === 'in_flight') return denialOf(status)
  // The inbox reports it as handled although the handler failed: if that was recorded, the event never runs again.
  return status === end.outcome ? CONFIRMED : fault(misbehaved(status, end.error))
}

function fault(error: unknown): CommitResult {
  return { status: 'fault', error }
}

function withoutRun(status: OnceStatus): Denial {
  if (status === 'duplicate' || status === 'in_flight') return denialOf(status)
  throw misbehaved(status)
}

function denialOf(status: Denial['status']): Denial {
  return status === 'duplicate' ? { status } : { status, retryAfterMs: RETRY_SECONDS * 1000 }
}

function readOnceStatus(value: unknown): OnceStatus | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { status } = value as { status?: unknown }
  return ONCE_STATUSES.includes(status) ? (status as OnceStatus) : undefined
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

function misbehaved(status: OnceStatus, cause?: unknown): StoreError {
  return new StoreError(
    'store_misbehaved',
    `The inbox returned ${status}, but that is not how its work ended: see Inbox.`,
    cause === undefined ? {} : { cause },
  )
}

function calledAgain(): StoreError {
  return new StoreError(
    'store_misbehaved',
    'The inbox called its work a second time, or after it had ended: a library that retries transactions must not do so here. See Inbox.',
  )
}
