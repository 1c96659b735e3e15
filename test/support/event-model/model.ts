import type { FailureState, OutcomeName } from 'tix-webhooks'

/** The end of the handler. */
export type Plan = 'ok' | 'fail' | 'retry' | 'discard'

/** The event of a delivery: one that can be handled, one whose data is invalid, or bytes that are no JSON. */
export type Content = 'valid' | 'invalid' | 'no JSON'

export const PARK_AFTER = { attempts: 4, hours: 24 }
const PARK_AFTER_MS = PARK_AFTER.hours * 3_600_000

/** What a ledger must say of an event. */
export interface Known {
  readonly state: FailureState | 'handled' | 'discarded'
  /** The deliveries that failed, the replays that did, and the code and the bytes of the last of them. */
  readonly count?: number
  readonly replays?: number
  readonly code?: string
  readonly body?: string
}

/** One event. */
export interface EventModel {
  /** Undefined while nothing is kept against it, and it is not handled. */
  known: Known | undefined
  firstFailedAt: number
  content: Content
  /** How often its handler has been called, and has had its effect. */
  runs: number
  effects: number
}

export interface Attempt {
  readonly content: Content
  readonly body: string
  readonly plan: Plan
  readonly at: number
  readonly isReplay: boolean
}

const CODES: Readonly<Record<string, string>> = {
  fail: 'handler_failed',
  retry: 'retry_later',
  invalid: 'data_mismatch',
  'no JSON': 'not_json',
}

export const isDone = ({ known }: EventModel): boolean =>
  known?.state === 'handled' || known?.state === 'discarded'

/** One delivery, or one replay: changes the model, and returns the outcome that it owes. */
export function attempted(event: EventModel, attempt: Attempt): OutcomeName {
  const { content, plan, isReplay } = attempt
  if (content !== 'valid') return failed(event, attempt, 'unprocessable')
  if (isDone(event)) return 'duplicate'
  if (event.known?.state === 'parked' && !isReplay) return 'parked'
  event.runs += 1
  if (plan === 'fail' || plan === 'retry')
    return failed(event, attempt, plan === 'fail' ? 'failed' : 'retry_later')
  if (plan === 'ok') event.effects += 1
  event.known = { state: plan === 'ok' ? 'handled' : 'discarded' }
  return event.known.state as 'handled'
}

/** A replay that fails says so, and a delivery may be the one that parks the event. */
function failed(event: EventModel, attempt: Attempt, outcome: OutcomeName): OutcomeName {
  if (isDone(event)) return outcome
  const { body, content, plan, at, isReplay } = attempt
  const { state, count = 0, replays = 0 } = event.known ?? {}
  if (event.known === undefined) event.firstFailedAt = at
  const counted = count + (isReplay ? 0 : 1)
  const isOver = !isReplay && (counted >= PARK_AFTER.attempts || at - event.firstFailedAt >= PARK_AFTER_MS)
  event.content = content
  event.known = {
    state: state === 'parked' || isOver ? 'parked' : 'failing',
    count: counted,
    replays: replays + (isReplay ? 1 : 0),
    code: CODES[content === 'valid' ? plan : content] ?? '',
    body,
  }
  return event.known.state === 'parked' && !isReplay ? 'parked' : outcome
}
