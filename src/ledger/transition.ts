import type { FailedDelivery, FailureState } from './failure.js'
import type { ClaimResult, EventFacts, KeepResult, ReplayTerms } from './store.js'

/** All that a ledger knows of one event. Times are in milliseconds. */
export interface EventRow {
  readonly state: 'running' | 'released' | 'handled' | 'discarded'
  /** Of the delivery that has claimed it last; empty if none has. */
  readonly token: string
  readonly attempt: number
  readonly leaseUntil: number
  readonly expiresAt: number
  readonly receivedAt: number
  readonly about: EventFacts | undefined
  /** Present if it is handled or discarded. */
  readonly handledAt: number | undefined
  readonly reason: string | undefined
  readonly failure: KeptFailure | undefined
}

/** Why an event is not handled, and its last delivery. */
interface KeptFailure {
  readonly state: FailureState
  readonly delivery: FailedDelivery
  readonly count: number
  readonly replays: number
  readonly firstAt: number
  readonly lastAt: number
  readonly deliveredAt: number
  readonly replayedAt: number | undefined
}

/** A call of a ledger, without its key. */
export type LedgerCall =
  | {
      readonly do: 'claim'
      readonly token: string
      readonly leaseMs: number
      readonly retainMs: number
      readonly about?: EventFacts | undefined
      readonly replay?: ReplayTerms | undefined
    }
  | { readonly do: 'renew'; readonly token: string; readonly leaseMs: number }
  | {
      readonly do: 'complete'
      readonly token: string
      readonly retainMs: number
      readonly discarded?: { readonly reason: string } | undefined
    }
  | { readonly do: 'release'; readonly token: string }
  | { readonly do: 'fail'; readonly token: string; readonly failed: FailedDelivery }
  | { readonly do: 'keep'; readonly failed: FailedDelivery }
  | { readonly do: 'discard'; readonly reason: string }
  /** An inbox opens the transaction of a handler; the row is as the call makes it once that is committed. */
  | {
      readonly do: 'open'
      readonly token: string
      readonly retainMs: number
      readonly about?: EventFacts | undefined
      readonly replay?: ReplayTerms | undefined
    }

export type OpenResult =
  | { readonly status: 'opened'; readonly attempt: number }
  | { readonly status: 'duplicate' | 'in_flight' | 'parked' }

export type LedgerAnswer = ClaimResult | OpenResult | boolean | KeepResult | 'discarded' | undefined

/** The row after a call, which is the same object if nothing changed, and the answer. */
export interface Transition<Answer = LedgerAnswer> {
  readonly row: EventRow | undefined
  readonly answer: Answer
}

/** The time by the clock of a ledger, and by that of its leases if they have another, which never steps. */
export interface LedgerTime {
  readonly now: number
  readonly leaseNow: number
}

/** Whether a row is within its retention. That of a running one is counted by the clock of its lease. */
export function isLive(row: EventRow | undefined, { now, leaseNow }: LedgerTime): row is EventRow {
  return row !== undefined && row.expiresAt > (row.state === 'running' ? leaseNow : now)
}

export function isFinal({ state }: EventRow): boolean {
  return state === 'handled' || state === 'discarded'
}

/**
 * The contract of `IdempotencyStore` and `LedgerStore`, for one key: what a call makes of its row, and what it returns. The memory store decides
 * by it, and the tests of all stores compare with it. "Handled" wins: any final end clears the failure.
 *
 * @param stored a row past its retention counts as none
 */
export function transition(stored: EventRow | undefined, call: LedgerCall, time: LedgerTime): Transition {
  switch (call.do) {
    case 'claim':
      return claim(stored, call, time)
    case 'renew':
      return renew(stored, call, time)
    case 'complete':
      return complete(stored, call, time)
    case 'release':
      return release(stored, call, time)
    case 'fail':
    case 'keep':
      return keep(stored, call, time)
    case 'discard':
      return discard(stored, call, time)
    case 'open':
      return open(stored, call, time)
  }
}

type CallOf<Name extends LedgerCall['do']> = Omit<Extract<LedgerCall, { readonly do: Name }>, 'do'>

export function claim(
  stored: EventRow | undefined,
  { token, leaseMs, retainMs, about, replay }: CallOf<'claim'>,
  time: LedgerTime,
): Transition<ClaimResult> {
  const { now, leaseNow } = time
  const row = isLive(stored, time) ? stored : undefined
  const isOwn = row?.token === token
  const isRunning = row?.state === 'running'
  const refused = (answer: ClaimResult): Transition<ClaimResult> => ({ row: stored, answer })
  if (row !== undefined && !(isRunning && isOwn)) {
    if (isFinal(row)) return refused({ status: 'completed' })
    if (isRunning && row.leaseUntil > leaseNow)
      return refused({ status: 'in_flight', retryAfterMs: row.leaseUntil - leaseNow })
    // Sent before our own release and arrived after it: nothing runs, so nothing may be taken.
    if (!isRunning && isOwn) return refused({ status: 'in_flight', retryAfterMs: 1 })
    if (replay === undefined && row.failure?.state === 'parked') return refused({ status: 'parked' })
  }
  // Another process has run it since it was listed.
  if (replay !== undefined && !(isRunning && isOwn) && replay.seen !== seenIn(row))
    return refused({ status: 'in_flight', retryAfterMs: 1 })
  const attempt = (row?.attempt ?? 0) + (isOwn ? 0 : 1)
  // A replay does not make an event be kept for longer, but it outlives the lease.
  const keptMs = replay === undefined || row === undefined ? retainMs : Math.max(leaseMs, restOf(row, time))
  return {
    row: {
      state: 'running',
      token,
      attempt,
      leaseUntil: leaseNow + leaseMs,
      expiresAt: leaseNow + keptMs,
      receivedAt: row?.receivedAt ?? now,
      about: row === undefined ? about : row.about,
      handledAt: undefined,
      reason: undefined,
      failure: row?.failure,
    },
    answer: { status: 'claimed', attempt },
  }
}

/** How long a row is still kept. */
function restOf(row: EventRow, { now, leaseNow }: LedgerTime): number {
  return row.expiresAt - (row.state === 'running' ? leaseNow : now)
}

/** How many deliveries and replays have failed. */
function seenIn(row: EventRow | undefined): number {
  return row?.failure === undefined ? 0 : row.failure.count + row.failure.replays
}

export function renew(
  stored: EventRow | undefined,
  { token, leaseMs }: CallOf<'renew'>,
  time: LedgerTime,
): Transition<boolean> {
  if (!isLive(stored, time) || stored.token !== token || stored.state !== 'running')
    return { row: stored, answer: false }
  return { row: { ...stored, leaseUntil: time.leaseNow + leaseMs }, answer: true }
}

export function complete(
  stored: EventRow | undefined,
  { token, retainMs, discarded }: CallOf<'complete'>,
  time: LedgerTime,
): Transition<boolean> {
  const row = isLive(stored, time) ? stored : undefined
  if (row !== undefined && row.token !== token) return { row: stored, answer: false }
  const expiresAt = time.now + retainMs
  return { row: { ...endedRow(row, discarded, time), token, expiresAt }, answer: true }
}

/** A row whose event is handled or discarded, and has no failure. */
function endedRow(
  row: EventRow | undefined,
  discarded: { readonly reason: string } | undefined,
  time: LedgerTime,
): EventRow {
  const { now } = time
  const isAgain = row !== undefined && isFinal(row)
  return {
    state: isAgain ? row.state : discarded === undefined ? 'handled' : 'discarded',
    token: row?.token ?? '',
    attempt: row?.attempt ?? 1,
    leaseUntil: 0,
    expiresAt: row === undefined ? now : now + restOf(row, time),
    receivedAt: row?.receivedAt ?? now,
    about: row?.about,
    handledAt: isAgain ? row.handledAt : now,
    reason: isAgain ? row.reason : discarded?.reason,
    failure: undefined,
  }
}

export function release(
  stored: EventRow | undefined,
  { token }: CallOf<'release'>,
  time: LedgerTime,
): Transition<boolean> {
  if (!isLive(stored, time) || stored.token !== token || isFinal(stored))
    return { row: stored, answer: false }
  return { row: releasedRow(stored, time), answer: true }
}

/** Its retention is counted by the other clock from now on. */
function releasedRow(row: EventRow, time: LedgerTime): EventRow {
  if (row.state === 'released') return row
  return { ...row, state: 'released', expiresAt: time.now + restOf(row, time) }
}

/** @param token of the run that has failed; without one, the delivery was never claimed */
export function keep(
  stored: EventRow | undefined,
  { token, failed }: { readonly token?: string; readonly failed: FailedDelivery },
  time: LedgerTime,
): Transition<KeepResult> {
  const { now, leaseNow } = time
  const row = isLive(stored, time) ? stored : undefined
  if (row !== undefined) {
    if (isFinal(row)) return { row: stored, answer: 'handled' }
    if (token === undefined && row.state === 'running' && row.leaseUntil > leaseNow)
      return { row: stored, answer: 'in_flight' }
    if (token === row.token && row.state === 'released' && row.failure !== undefined)
      return { row: stored, answer: row.failure.state }
  }
  const failure = failedAgain(row?.failure, failed, now)
  const isRunning = row?.state === 'running' && row.token !== token
  const before = row ?? newRow(token, failed, now)
  const kept = isRunning ? before : releasedRow(before, time)
  // A run of another delivery has its own retention, and its end decides.
  const expiresAt = failed.isReplay || isRunning ? kept.expiresAt : now + failed.retainMs
  return {
    row: { ...kept, about: kept.about ?? factsOf(failed), expiresAt, failure },
    answer: failure.state,
  }
}

function newRow(token: string | undefined, failed: FailedDelivery, now: number): EventRow {
  return {
    state: 'released',
    token: token ?? '',
    attempt: token === undefined ? 0 : 1,
    leaseUntil: 0,
    expiresAt: now + failed.retainMs,
    receivedAt: now,
    about: factsOf(failed),
    handledAt: undefined,
    reason: undefined,
    failure: undefined,
  }
}

/** Without the bytes, which a handled event must not keep. */
function factsOf({ namespace, account, kind }: FailedDelivery): EventFacts {
  return { namespace, ...(account === undefined ? {} : { account }), kind }
}

/** A failed replay leaves the state as it is: only deliveries park an event. */
function failedAgain(known: KeptFailure | undefined, failed: FailedDelivery, now: number): KeptFailure {
  const { isReplay, parkAfter = {} } = failed
  const count = (known?.count ?? 0) + (isReplay ? 0 : 1)
  const firstAt = known?.firstAt ?? now
  const isOver =
    !isReplay &&
    (count >= (parkAfter.attempts ?? Number.POSITIVE_INFINITY) ||
      now - firstAt >= (parkAfter.ms ?? Number.POSITIVE_INFINITY))
  return {
    state: known?.state === 'parked' || isOver ? 'parked' : 'failing',
    delivery: failed,
    count,
    replays: (known?.replays ?? 0) + (isReplay ? 1 : 0),
    firstAt,
    lastAt: now,
    deliveredAt: isReplay ? (known?.deliveredAt ?? now) : now,
    replayedAt: isReplay ? now : known?.replayedAt,
  }
}

/** By hand: not while the event is being handled. */
export function discard(
  stored: EventRow | undefined,
  { reason }: CallOf<'discard'>,
  time: LedgerTime,
): Transition<'discarded' | 'handled' | 'in_flight' | undefined> {
  if (!isLive(stored, time)) return { row: stored, answer: undefined }
  if (isFinal(stored)) return { row: stored, answer: 'handled' }
  if (stored.state === 'running' && stored.leaseUntil > time.leaseNow)
    return { row: stored, answer: 'in_flight' }
  return { row: endedRow(stored, { reason }, time), answer: 'discarded' }
}

/** Its token replaces that of a claim before it, which must not take the row for its own. */
export function open(
  stored: EventRow | undefined,
  { token, retainMs, about, replay }: CallOf<'open'>,
  time: LedgerTime,
): Transition<OpenResult> {
  const row = isLive(stored, time) ? stored : undefined
  const refused = (status: 'duplicate' | 'in_flight' | 'parked'): Transition<OpenResult> => ({
    row: stored,
    answer: { status },
  })
  if (row !== undefined) {
    if (isFinal(row)) return refused('duplicate')
    if (row.state === 'running' && row.leaseUntil > time.leaseNow) return refused('in_flight')
    if (replay === undefined && row.failure?.state === 'parked') return refused('parked')
  }
  if (replay !== undefined && replay.seen !== seenIn(row)) return refused('in_flight')
  const attempt = seenIn(row) + 1
  const handled = endedRow(row, undefined, time)
  return {
    row: {
      ...handled,
      token,
      attempt,
      about: row === undefined ? about : row.about,
      expiresAt: time.now + retainMs,
    },
    answer: { status: 'opened', attempt },
  }
}
