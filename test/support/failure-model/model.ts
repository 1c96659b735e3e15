import type { FailureState, OutcomeName } from 'tix-webhooks'
import type { World } from './world.js'

/** The end of the handler. */
export type Plan = 'ok' | 'fail' | 'retry' | 'discard'

/** The event of a delivery: one that can be handled, one whose data is invalid, or bytes that are no JSON. */
export type Content = 'valid' | 'invalid' | 'no JSON'

export const PARK_AFTER = { attempts: 4, hours: 24 }
const PARK_AFTER_MS = PARK_AFTER.hours * 3_600_000

/** A failure as it must be. */
interface ExpectedFailure {
  readonly state: FailureState
  readonly attempts: number
  readonly replays: number
  readonly code: string
  readonly firstAt: Date
  readonly lastAt: Date
  readonly lastReplayedAt: Date | undefined
  readonly body: string
  readonly content: Content
}

/** One event. */
export interface EventModel {
  isHandled: boolean
  failure: ExpectedFailure | undefined
  /** How often its handler has been called, and has had its effect. */
  runs: number
  effects: number
}

export interface Attempt {
  readonly content: Content
  readonly body: string
  readonly plan: Plan
  readonly at: Date
  readonly isReplay: boolean
  /** Whether the failures are down during it. */
  readonly isBroken: boolean
  /** Whether it cannot know that the event is parked. */
  readonly isUnasked?: boolean
}

const CODES: Readonly<Record<string, string>> = {
  fail: 'handler_failed',
  retry: 'retry_later',
  invalid: 'data_mismatch',
  'no JSON': 'not_json',
}

/** Whether the failures are asked before the record of the event, in another database than that. */
const isBeside = (world: World): boolean => 'inbox' in world.guard && !world.isJoined

/** One delivery, or one replay: changes the model, and returns the outcome that it owes. */
export function attempted(event: EventModel, attempt: Attempt, world: World): OutcomeName {
  const { content, plan, isReplay, isBroken } = attempt
  if (content !== 'valid') {
    if (event.isHandled && !isBeside(world)) return foundHandled(event, attempt, world, 'unprocessable')
    return failed(event, attempt, 'unprocessable')
  }
  const isUnasked = attempt.isUnasked === true || (isBroken && !world.isJoined)
  const isKnownParked = event.failure?.state === 'parked' && !isReplay && !isUnasked
  if (isKnownParked && isBeside(world)) return 'parked'
  if (event.isHandled) return foundHandled(event, attempt, world, 'duplicate')
  if (isKnownParked) return 'parked'
  event.runs += 1
  if (plan === 'fail' || plan === 'retry')
    return failed(event, attempt, plan === 'fail' ? 'failed' : 'retry_later')
  event.isHandled = true
  if (plan === 'ok') event.effects += 1
  if (!isBroken || world.isJoined) event.failure = undefined
  return plan === 'ok' ? 'handled' : 'discarded'
}

/** The failures were down when the event was handled: a replay makes up for it, and so does what looks for the failure first. */
function foundHandled(
  event: EventModel,
  { isBroken, isReplay }: Attempt,
  world: World,
  outcome: 'duplicate' | 'unprocessable',
): OutcomeName {
  const isRemoved = outcome === 'duplicate' && (isReplay || isBeside(world))
  if (isRemoved && !isBroken) event.failure = undefined
  return outcome
}

/** An event that is not handled is kept: a replay that fails says so, and a delivery may be the one that parks the event. */
function failed(event: EventModel, attempt: Attempt, outcome: OutcomeName): OutcomeName {
  if (attempt.isBroken) return outcome
  event.failure = failedAgain(event.failure, attempt)
  return event.failure.state === 'parked' && !attempt.isReplay ? 'parked' : outcome
}

function failedAgain(
  known: ExpectedFailure | undefined,
  { body, content, plan, at, isReplay }: Attempt,
): ExpectedFailure {
  const attempts = (known?.attempts ?? 0) + 1
  const firstAt = known?.firstAt ?? at
  const isParked =
    known?.state === 'parked' ||
    attempts >= PARK_AFTER.attempts ||
    at.getTime() - firstAt.getTime() >= PARK_AFTER_MS
  return {
    state: isParked ? 'parked' : 'failing',
    attempts,
    replays: (known?.replays ?? 0) + (isReplay ? 1 : 0),
    code: CODES[content === 'valid' ? plan : content] ?? '',
    firstAt,
    lastAt: at,
    lastReplayedAt: isReplay ? at : known?.lastReplayedAt,
    body,
    content,
  }
}
