import { type EventRow, type LedgerAnswer, transition } from '../../src/ledger/transition.js'
import type { StoreCall } from '../../testing/store-cases/model.js'

/** A call on one key, or passing time. */
export type KeyAction = StoreCall | { readonly do: 'advance'; readonly ms: number }

/** A store's state for one key. */
export interface KeyState {
  readonly now: number
  readonly row?: EventRow | undefined
}

export const ABSENT: KeyState = { now: 0 }

/** The same state if nothing changes. */
export function act(
  state: KeyState,
  action: KeyAction,
): { readonly state: KeyState; readonly answer: LedgerAnswer | undefined } {
  const { now, row } = state
  if (action.do === 'advance') return { state: { now: now + action.ms, row }, answer: undefined }
  const { row: next, answer } = transition(row, action, { now, leaseNow: now })
  return { state: next === row ? state : { now, row: next }, answer }
}

/** A call as its caller saw it. */
export interface RecordedCall {
  readonly call: KeyAction
  /** The times in one history all differ, and are in the order in which they were seen. */
  readonly start: number
  /** Infinity if no reply came: it may have taken effect at any time since its start, may do so later, or never. */
  readonly end: number
  readonly answer: LedgerAnswer | undefined
}

export interface Verdict {
  readonly isLinearizable: boolean
  /** An order of the calls that explains each answer; if there is none, the longest prefix of one. */
  readonly order: readonly RecordedCall[]
}

/**
 * Whether the calls on one key could have taken effect one at a time, each between its start and its end, with their answers: the
 * search of Wing and Gong, which never visits the same state twice.
 */
export function linearize(history: readonly RecordedCall[], initial: KeyState = ABSENT): Verdict {
  const visited = new Set<string>()
  let longest: readonly RecordedCall[] = []

  function visit(
    state: KeyState,
    left: readonly RecordedCall[],
    order: readonly RecordedCall[],
  ): readonly RecordedCall[] | undefined {
    if (order.length > longest.length) longest = order
    if (!left.some(isAnswered)) return order
    const situation = `${left.map(({ start }) => start)} ${JSON.stringify(state)}`
    if (visited.has(situation)) return undefined
    visited.add(situation)
    const firstEnd = Math.min(...left.map(({ end }) => end))
    const open = left.filter(({ start }) => start < firstEnd)
    for (const recorded of worthTrying(state, open)) {
      const { state: after, answer } = act(state, recorded.call)
      if (isAnswered(recorded) ? !isSameAnswer(answer, recorded.answer) : after === state) continue
      const rest = left.filter((other) => other !== recorded)
      const found = visit(after, rest, [...order, recorded])
      if (found !== undefined) return found
    }
    return undefined
  }

  const order = visit(initial, history, [])
  return { isLinearizable: order !== undefined, order: order ?? longest }
}

/** A refusal changes nothing in any state, so where it is possible it can go first. Of identical calls, the one that ended first can. */
function worthTrying(state: KeyState, open: readonly RecordedCall[]): readonly RecordedCall[] {
  const refusal = open.find(
    ({ call, answer }) => isRefusal(answer) && isSameAnswer(act(state, call).answer, answer),
  )
  if (refusal !== undefined) return [refusal]
  const first = new Map<string, RecordedCall>()
  for (const recorded of [...open].sort((a, b) => a.end - b.end)) {
    const what = JSON.stringify([recorded.call, recorded.answer, isAnswered(recorded)])
    if (!first.has(what)) first.set(what, recorded)
  }
  return [...first.values()]
}

function isAnswered({ end }: RecordedCall): boolean {
  return end < Infinity
}

function isRefusal(answer: LedgerAnswer | undefined): boolean {
  if (typeof answer === 'object') return answer.status !== 'claimed'
  return answer === false || answer === 'handled' || answer === 'in_flight'
}

/** The clock of a real store advances during the calls, so the rest of a lease is not compared. */
function isSameAnswer(expected: LedgerAnswer | undefined, answer: LedgerAnswer | undefined): boolean {
  if (typeof expected !== 'object' || typeof answer !== 'object') return expected === answer
  if (expected.status !== answer.status) return false
  return expected.status !== 'claimed' || answer.status !== 'claimed' || expected.attempt === answer.attempt
}

/** @throws Error that shows the whole history, and how far it can be explained */
export function assertLinearizable(history: readonly RecordedCall[], origin: string): void {
  const { isLinearizable, order } = linearize(history)
  if (isLinearizable) return
  throw new Error(
    `No order of these calls explains their answers (${origin}).\n${describeCalls(history)}\n` +
      `An order explains the first ${order.length} of ${history.length}:\n${describeCalls(order)}`,
  )
}

function describeCalls(calls: readonly RecordedCall[]): string {
  return calls
    .map((recorded) => {
      const { do: name, ...details } = recorded.call
      const answer = isAnswered(recorded) ? JSON.stringify(recorded.answer) : '(no reply)'
      return `  [${recorded.start}, ${recorded.end}] ${name} ${JSON.stringify(details)} → ${answer}`
    })
    .join('\n')
}
